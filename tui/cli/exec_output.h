#pragma once
/* The output of keyturn exec: a script's events as JSON lines, or readable text on a terminal. Secrets are redacted in
 * both. */

#include "cli_out.h"
#include <stdint.h>

struct authoring;

struct exec_output {
    struct cli_out output;
    bool readable; /* readable text instead of JSON */
    bool color;
    char *script; /* source of the current events */
};

/* Writes to standard output. Nothing is sent before the output is flushed. */
void exec_output_init(struct exec_output *out);
void exec_output_release(struct exec_output *out);
/* Sets the script that the next events come from. */
void exec_output_script(struct exec_output *out, const char *script);
/* Prints an event, one line of JSON. */
void exec_output_event(struct exec_output *out, const char *line, size_t len);

/* In readable output only: prints that the model is writing a script. */
void exec_output_asked(struct exec_output *out, const char *model);
/* Prints the script that it wrote, its number and its cost. `name` is what the number counts ("attempt"). */
void exec_output_attempt(struct exec_output *out, const char *name, size_t number, const struct authoring *authoring);
/* Prints a text of the model under its name. */
void exec_output_word(struct exec_output *out, const char *text);
/* Prints the outcome. `error` is an error that no event reported; NULL: none. */
void exec_output_end(struct exec_output *out, bool success, const char *error, int64_t duration_ms, const char *engine);

/* Prints the first line of an error on stderr, which is the most specific one. Returns the exit status. */
int exec_say_error(const char *error);
