#pragma once
/* What keyturn exec prints: a script's events as JSON lines, or on a terminal as a person reads them. Secrets are left
 * out of both. */

#include "output.h"
#include <stdint.h>

struct authoring;

struct exec_output {
    struct output output;
    bool readable; /* for people */
    bool colour;
    char *script; /* that the events come from */
};

/* To standard output. Nothing is sent before the output is flushed. */
void exec_output_init(struct exec_output *out);
void exec_output_release(struct exec_output *out);
/* The script that the next events come from. */
void exec_output_script(struct exec_output *out, const char *script);
/* An event, one line of JSON. */
void exec_output_event(struct exec_output *out, const char *line, size_t len);

/* For people alone: that a model is asked for a script; */
void exec_output_asked(struct exec_output *out, const char *model);
/* the script that it wrote, its number and what it cost, `name` being what such a script is ("attempt"); */
void exec_output_attempt(struct exec_output *out, const char *name, size_t number, const struct authoring *authoring);
/* a text of the model's under its own name; */
void exec_output_word(struct exec_output *out, const char *text);
/* how it went. `error` is what no event told; NULL: none. */
void exec_output_end(struct exec_output *out, bool success, const char *error, int64_t duration_ms, const char *engine);

/* An error of several lines begins with the one that says most: that one on stderr. Returns the exit status. */
int exec_say_error(const char *error);
