#pragma once
/* What an interactive program printed: its lines, waiting for more of them, whether it seems to ask something, and an
 * output that is cut in the middle.
 *
 * Lines are numbered. Offsets count lines from the program's start; the oldest go when there are too many, and the base
 * moves on. A cursor remembers how far somebody has read (poll); a log looks
 * anywhere and moves nothing. The line that has no end yet is shown at the end but has no number: it is shown again
 * next time, until it ends or the program does. */

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* ---- waiting for output ---- */

#define SESSION_EXEC_YIELD_MS 1000              /* how long to look after a start */
#define SESSION_IO_YIELD_MS   400               /* after typing */
#define SESSION_POLL_LINES    40                /* at a look */
#define SESSION_YIELD_MAX_MS  INT32_MAX         /* whatever is said */
#define SESSION_POLL_MS       50                /* between looks */
#define SESSION_SETTLE_MS     75                /* quiet for so long: it has said what it has to say */
#define SESSION_KEPT_S        1800              /* after its end, for who has not asked yet */
#define SESSION_SEEN_BYTES    ((size_t)1 << 20) /* who has seen so much is told: the rest is for the next look */

/* What was to be seen while somebody waited. */
struct session_seen {
    struct strbuf output; /* each text once, as printed; without the last newline */
    struct session_window window;
    bool exited;
    int exit_code;
};

/* A yield that somebody said: nothing and less than nothing is the other one. */
int64_t session_yield_ms(int64_t said_ms, int64_t otherwise_ms);

/* The state of waiting, apart from what drives it: who looks at which time and what there is then. */
struct session_waiter {
    int64_t until_us, quiet_us; /* 0: not set */
    size_t limit, added;
    bool any;
    struct session_seen seen;
};
void session_waiter_begin(struct session_waiter *waiter, int64_t now_us, int64_t yield_ms, size_t limit);
/* Takes what is there; true: that is all. */
bool session_waiter_look(struct session_waiter *waiter, struct session_lines *lines, int64_t now_us);
void session_waiter_release(struct session_waiter *waiter);

/* ---- prompts ---- */

/* Whether a program that runs seems to wait for somebody, from what it printed last. A guess for people and models,
 * never a reason to do anything. */
enum prompt_kind { PROMPT_NONE, PROMPT_TEXT, PROMPT_SELECTION };

/* `hint` gets the last line that is not blank, when there is a prompt. */
enum prompt_kind prompt_find(const char *output, struct strbuf *hint);
const char *prompt_kind_name(enum prompt_kind kind); /* "prompt", "selection"; NULL for none */

/* ---- the head and the tail of an output that is too long, with a mark between them ---- */

#define WINDOW_MARK "\n...[output truncated]...\n"

/* Appends the text in at most `max_bytes` (0: all of it), cutting no character in two; bytes that are no UTF-8 are left
 * out when there is a limit. The head gets the odd byte; where not even the mark fits, there is only a head. True when
 * what came out is not what went in. */
bool window_text(struct strbuf *out, const char *text, size_t len, size_t max_bytes);
