#pragma once
/* Shared parts of keyturn exec: exec.c runs a script of the user, exec_ask.c one that a model writes. */

#include "app/setup.h"
#include "exec_output.h"
#include "sandbox/script.h"

/* keyturn exec --ask. */
int exec_ask(const struct options *options);

/* The part of a request that the options set. The caller adds the script. */
struct script_request exec_request(const struct sandbox_choice *sandbox, const struct options *options);
/* One sandbox at a time, `warm` of them kept ready. NULL after printing that there is no sandbox. */
struct pool *exec_open_pool(const struct sandbox_choice *sandbox, struct loop *loop, size_t warm);
/* Prints why no sandbox started; returns the exit status. */
int exec_no_box_error(const char *why);
