#pragma once
/* What keyturn exec prints: events as JSON lines, or an account of them on a terminal. Secrets are left out of both. */

#include "exec_account.h"
#include "output.h"

struct exec_output {
    struct output output;
    struct exec_account account;
    bool readable; /* for people: the account */
    char *script;  /* of the account */
};

/* To standard output. */
void exec_output_init(struct exec_output *out);
void exec_output_release(struct exec_output *out);
/* The script that the next events come from. */
void exec_output_script(struct exec_output *out, const char *script);
/* An event, one line of JSON. Nothing is sent before the output is flushed. */
void exec_output_event(struct exec_output *out, const char *line, size_t len);
/* An error of several lines begins with the one that says most: that one on stderr. Returns the exit status. */
int exec_say_error(const char *error);
