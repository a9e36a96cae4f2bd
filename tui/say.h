#pragma once
/* What the program says to a person on stderr: one line per message, whatever is in the texts. */

#include "base/err.h"

enum exit_status {
    STATUS_DONE = 0,
    STATUS_FAILED = 1,   /* the turn, script or check ran and failed */
    STATUS_USAGE = 2,    /* wrong usage or unreadable input */
    STATUS_DEPARTED = 3, /* from the recording */
    STATUS_REFUSED = 4,  /* done, but a write was refused because nobody could be asked */
    /* Ended by a signal: 128 and its number, as a shell says it. */
    STATUS_HUNG_UP = 129,     /* SIGHUP, or a terminal that is gone */
    STATUS_INTERRUPTED = 130, /* Ctrl-C, SIGINT */
    STATUS_TERMINATED = 143,  /* SIGTERM */
};

/* "keyturn: text". Returns the status, so that `return say_error(STATUS_USAGE, …)` reads well. */
int say_error(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "keyturn: FILE:LINE: text", without the line when there is none, and without the file when the text names it. */
int say_file_error(int status, const char *file, const struct err *err);
/* A page that goes with such a line: its line breaks stay. */
void say_page(const char *text, size_t len);
/* The same line, for something that does not stop the program. */
void say_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
