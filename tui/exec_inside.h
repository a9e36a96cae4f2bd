#pragma once
/* What is behind keyturn exec: cmd_exec.c runs a script that is there, cmd_exec_ask.c one that a model writes. */

#include "exec_output.h"
#include "sandbox.h"
#include "sandbox/executor.h"

/* cmd_exec_ask.c: keyturn exec --ask. */
int exec_ask(const struct options *options);

/* exec_script.c */
/* The script of a file, or of standard input (NULL or "-"), as Python is to have it: UTF-8 without a mark before it. 0,
 * or the exit status after the error was said. */
int exec_read_script(const char *operand, struct strbuf *script);

/* exec_box.c */
/* What the options say of every script. Its text is left to the caller. */
struct script_request exec_request(const struct sandbox *sandbox, const struct options *options);
/* One box at a time, `warm` of them kept. NULL after it was said that there is no sandbox. */
struct pool *exec_open_pool(const struct sandbox *sandbox, struct loop *loop, size_t warm);
/* Why there is no box; returns the exit status. */
int exec_say_no_box(const char *why);
