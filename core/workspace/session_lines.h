#pragma once
/* What an interactive program printed, as numbered lines. Offsets count lines from the program's start; the oldest go
 * when there are too many, and the base moves on. A cursor remembers how far somebody has read (poll); a log looks
 * anywhere and moves nothing. The line that has no end yet is shown at the end but has no number: it is shown again
 * next time, until it ends or the program does. */

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>

#define SESSION_LINES_MAX      20000u             /* retained */
#define SESSION_LINES_BYTES    ((size_t)32 << 20) /* of all of them: older ones go, however few they are */
#define SESSION_LINE_BYTES_MAX ((size_t)1 << 20)  /* a line that is longer is broken */

struct session_line;

struct session_lines {
    struct session_line *items; /* a ring */
    size_t first, count, room, max, bytes;
    size_t base;   /* number of the oldest line that is still there */
    size_t cursor; /* number of the first line that was not polled yet */
    size_t added;  /* bytes that ever came: whether anything is new */
    size_t told;   /* of them when somebody who waited was told all there was */
    struct strbuf partial;
    bool exited;
    int exit_code;
};

/* Lines [offset, next): `next` is where to go on. */
struct session_window {
    size_t offset, next;
};

void session_lines_init(struct session_lines *lines, size_t max); /* 0: no limit but that of bytes */
void session_lines_release(struct session_lines *lines);
/* CR LF within the text counts as LF. */
void session_lines_add(struct session_lines *lines, const char *text, size_t len);
/* The program is gone; its unfinished line is one now. The first code stays. */
void session_lines_end(struct session_lines *lines, int exit_code);

/* Appends the lines joined by LF, at most `limit` (0: all), and the unfinished line when the end is reached. */
struct session_window session_lines_poll(struct session_lines *lines, size_t limit, struct strbuf *out);
struct session_window session_lines_log(const struct session_lines *lines, size_t offset, size_t limit,
                                        struct strbuf *out);
/* For who puts several polls together: whole lines only, each followed by LF. */
struct session_window session_lines_take(struct session_lines *lines, size_t limit, struct strbuf *out);
