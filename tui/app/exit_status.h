#pragma once
/* The exit statuses of keyturn. */

#include <string.h>

enum exit_status {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,   /* the turn, script or check ran and failed */
    STATUS_USAGE = 2,    /* wrong usage or unreadable input */
    STATUS_DIVERGED = 3, /* the run differs from the recording */
    STATUS_REFUSED = 4,  /* done, but a write was denied because no user could be asked */
    /* Ended by a signal: 128 plus its number, as in a shell. */
    STATUS_HUNG_UP = 129,     /* SIGHUP, or the terminal is gone */
    STATUS_INTERRUPTED = 130, /* Ctrl-C, SIGINT */
    STATUS_TERMINATED = 143,  /* SIGTERM */
};

/* The exit status after a turn that ended with this status (turn.finished). */
static inline int exit_status_of_turn(const char *turn_status)
{
    if (strcmp(turn_status, "done") == 0)
        return STATUS_DONE;
    return strcmp(turn_status, "cancelled") == 0 ? STATUS_INTERRUPTED : STATUS_FAILED;
}
