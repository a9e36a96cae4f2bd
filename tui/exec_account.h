#pragma once
/* A script's events as a person reads them: what it printed line by line, what it logged, its results, and where it
 * failed, with the line of the script marked. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct authoring;
struct strbuf;

struct exec_account {
    const char *script; /* its text */
    bool colour;
};

/* Adds that a model is asked for a script. */
void exec_account_asked(struct exec_account *account, struct strbuf *out, const char *model);
/* Adds a script that a model wrote: its number, what it cost, its lines. `name` is what such a script is: "attempt". */
void exec_account_attempt(struct exec_account *account, struct strbuf *out, const char *name, size_t number,
                          const struct authoring *authoring);
/* Adds a text of a model's under its own name. */
void exec_account_word(struct exec_account *account, struct strbuf *out, const char *text);
/* Adds an event, one line of JSON. */
void exec_account_event(struct exec_account *account, struct strbuf *out, const char *line, size_t len);
/* The last line: how it went. `error` is what no event told; NULL: none. */
void exec_account_end(struct exec_account *account, struct strbuf *out, bool success, const char *error,
                      int64_t duration_ms, const char *engine);
