#pragma once
/* Standard output, buffered and sent with write(2). An error (a closed pipe, a full disk) is kept in `failed`, and the
 * code that runs the turn checks it. Nothing here ends the program. */

#include "base/strbuf.h"

struct cli_out {
    int fd;
    struct strbuf text; /* append here, then flush */
    int failed;         /* errno of the first failure; 0: none */
};

void cli_out_init(struct cli_out *output, int fd);
void cli_out_release(struct cli_out *output);
/* Sends the buffered text. Waits if the descriptor is non-blocking. After a failure all text is dropped. */
int cli_out_flush(struct cli_out *output);
/* Buffers bytes and sends them once there are enough. A long text is sent without copying it. */
void cli_out_add(struct cli_out *output, const void *bytes, size_t len);
/* Prints the error line for `failed`; returns the exit status. */
int cli_out_error(const struct cli_out *output);

/* True if the program was started without standard output: all output is lost. */
extern bool cli_out_closed;

/* The signals that end a command: SIGINT, SIGTERM, SIGHUP. */

struct loop;
struct loop_watch;

struct signals {
    /* Called when a signal arrived, with the exit status for it. */
    void (*stopped)(void *user, int status);
    void *user;
    struct loop_watch *watches[3];
};

/* Watches the signals until signals_unwatch. The caller sets the other two fields first. */
void signals_watch(struct signals *stops, struct loop *loop);
void signals_unwatch(struct signals *stops);
