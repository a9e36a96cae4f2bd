#pragma once
/* The output of an interactive program: its lines, waiting for more, guessing whether it asks something, cutting
 * long output.
 *
 * Lines are numbered from the program's start; offsets are line numbers. If there are too many lines, the oldest are
 * dropped and the base moves on. A cursor marks how far polls have read. A log reads anywhere and moves nothing. The
 * unfinished line is shown last and has no number. It is shown again next time, until it ends or the program does. */

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_LINES_MAX      20000u             /* lines retained */
#define OUTPUT_LINES_BYTES    ((size_t)32 << 20) /* of all lines; the oldest are dropped, however few remain */
#define OUTPUT_LINE_BYTES_MAX ((size_t)1 << 20)  /* a longer line is split */

struct printed_line;

struct output_lines {
    struct printed_line *items; /* a ring */
    size_t first, count, room, max, bytes;
    size_t base;   /* number of the oldest retained line */
    size_t cursor; /* number of the first line not polled yet */
    size_t added;  /* bytes ever received; shows whether anything is new */
    size_t told;   /* value of `added` when a waiter last received all output */
    struct strbuf partial;
    bool exited;
    int exit_code;
};

/* Lines [offset, next): the next read starts at `next`. */
struct line_range {
    size_t offset, next;
};

void output_lines_init(struct output_lines *lines, size_t max); /* max 0: only the byte limit applies */
void output_lines_release(struct output_lines *lines);
/* CR LF within the text counts as LF. */
void output_lines_add(struct output_lines *lines, const char *text, size_t len);
/* The program has ended, which ends its unfinished line. The first exit code stays. */
void output_lines_end(struct output_lines *lines, int exit_code);

/* Appends the lines joined by LF, at most `limit` (0: all), and the unfinished line if the end is reached. */
struct line_range output_lines_poll(struct output_lines *lines, size_t limit, struct strbuf *out);
struct line_range output_lines_log(const struct output_lines *lines, size_t offset, size_t limit, struct strbuf *out);
/* For callers that join several polls: whole lines only, each followed by LF. */
struct line_range output_lines_take(struct output_lines *lines, size_t limit, struct strbuf *out);

/* ---- waiting for output ---- */

#define OUTPUT_EXEC_YIELD_MS 1000      /* how long to wait for output after a start */
#define OUTPUT_IO_YIELD_MS   400       /* after input */
#define OUTPUT_POLL_LINES    40        /* lines per poll */
#define OUTPUT_YIELD_MAX_MS  INT32_MAX /* upper bound of any requested wait */
#define OUTPUT_POLL_MS       50        /* between looks */
#define OUTPUT_SETTLE_MS     75        /* silence that ends a wait: the program has printed what it had to print */
#define OUTPUT_KEPT_S        1800      /* how long a finished program's output is kept for a later poll */
#define OUTPUT_SEEN_BYTES    ((size_t)1 << 20) /* a wait ends after this much output: the next poll gets the rest */

/* The output that arrived during a wait. */
struct output_seen {
    struct strbuf output; /* each text once, as printed; without the last newline */
    struct line_range window;
    bool exited;
    int exit_code;
};

/* The requested wait, or the other one if the request is zero or negative. */
int64_t output_yield_ms(int64_t said_ms, int64_t otherwise_ms);

/* The state of a wait, without its timer: the caller looks at certain times and passes the time. */
struct output_wait {
    int64_t until_us, quiet_us; /* 0: not set */
    size_t limit, added;
    bool any;
    struct output_seen seen;
};
void output_wait_begin(struct output_wait *waiter, int64_t now_us, int64_t yield_ms, size_t limit);
/* Takes the output so far; returns true if the wait is over. */
bool output_wait_look(struct output_wait *waiter, struct output_lines *lines, int64_t now_us);
void output_wait_release(struct output_wait *waiter);

/* ---- prompts ---- */

/* Guesses from the last output whether a running program waits for input. A hint for people and models, never a
 * reason to act. */
enum prompt_kind { PROMPT_NONE, PROMPT_TEXT, PROMPT_SELECTION };

/* `hint` gets the last line that is not blank, if there is a prompt. */
enum prompt_kind prompt_find(const char *output, struct strbuf *hint);
const char *prompt_kind_name(enum prompt_kind kind); /* "prompt", "selection"; NULL for none */

/* ---- head and tail of an output that is too long, with a mark between them ---- */

#define WINDOW_MARK "\n...[output truncated]...\n"

/* Appends the text in at most `max_bytes` (0: all), without splitting a character. With a limit it drops bytes that
 * are not UTF-8. The head gets the odd byte. If even the mark does not fit, the result is only a head. Returns true
 * if the result differs from the text. */
bool window_text(struct strbuf *out, const char *text, size_t len, size_t max_bytes);
