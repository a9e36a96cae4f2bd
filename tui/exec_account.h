#pragma once
/* A script's events as a person reads them: what it printed line by line, what it logged, its results, and where it
 * failed, with the line of the script marked. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

struct exec_account {
    const char *script; /* its text */
    bool colour;
};

/* Adds an event, one line of JSON. */
void exec_account_event(struct exec_account *account, struct strbuf *out, const char *line, size_t len);
/* The last line: how it went. `error` is what no event told; NULL: none. */
void exec_account_end(struct exec_account *account, struct strbuf *out, bool success, const char *error,
                      int64_t duration_ms, const char *engine);
