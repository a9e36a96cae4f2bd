#pragma once
/* Messages to the user on stderr: one line each, whatever the texts contain. Also the exit statuses. */

#include "base/err.h"

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

/* "keyturn: text". Returns the status, so that `return cli_error(STATUS_USAGE, …)` reads well. */
int cli_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "keyturn: FILE:LINE: text". Leaves out the line if it is unknown, and the file if the text already names it. */
int cli_file_error(int status, const char *file, const struct err *err);
/* Prints a page that follows such a line. Its line breaks are kept. */
void cli_page(const char *text, size_t len);
/* The same line, for a problem that does not stop the program. */
void cli_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
