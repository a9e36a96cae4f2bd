#pragma once
/* Standard output, gathered and sent with write(2). What goes wrong with it (a reader that left, a full disk) is kept
 * and looked at by whoever runs the turn; nothing here ends the program. */

#include "base/strbuf.h"

struct output {
    int fd;
    struct strbuf text; /* add to it, then flush */
    int failed;         /* errno of the first failure, 0 while all is well */
};

void output_init(struct output *output, int fd);
void output_release(struct output *output);
/* Sends what was gathered; waits where the descriptor would not. After a failure everything is dropped. */
int output_flush(struct output *output);
/* Gathers bytes and sends once there are enough of them; a long text is sent from where it is. */
void output_add(struct output *output, const void *bytes, size_t len);
/* The error line for `failed`; returns the exit status. */
int output_say_failed(const struct output *output);

/* The program was started without standard output: what is sent there goes nowhere. */
extern bool output_closed;
