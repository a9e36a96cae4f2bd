#pragma once
/* Text for a person's eyes: made harmless, measured, cut, wrapped; numbers, times and money the way people read them.
 * Where the locale is not UTF-8 everything that is written here is ASCII. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* Whether the user's terminal understands UTF-8, by LC_ALL, LC_CTYPE and LANG. */
bool text_utf8(void);
/* Columns of the terminal on `fd`, or `otherwise`. */
size_t text_terminal_width(int fd, size_t otherwise);

/* Signs of our own with their plain twins. */
const char *text_dot(void);      /* "·" or "-" */
const char *text_ellipsis(void); /* "…" or "..." */
const char *text_parallel(void); /* "∥" or "=" */
const char *text_newline(void);  /* "⏎" or "\\n": a line break where everything is on one line */

/* Appends foreign text, sanitised (enum utf8_keep), and spelled as <U+00E9> where the locale wants ASCII. Tabs that are
 * kept become spaces up to the next multiple of eight from `text` on. */
void text_show(struct strbuf *out, const char *text, size_t len, unsigned keep);
/* The same on one line of at most `columns`, cut with an ellipsis; every white space is one space. Returns the columns.
 */
size_t text_show_cut(struct strbuf *out, const char *text, size_t len, size_t columns);
/* A name on one line: a line break in it is shown (^J) like everything else that is no letter, so that it cannot look
 * like a line of ours. What is added may be shown once more, as part of a paragraph. */
void text_name(struct strbuf *out, const char *name);
size_t text_name_cut(struct strbuf *out, const char *name, size_t columns);
/* Appends foreign text as a paragraph: lines of at most `width` columns including `indent` spaces before each, broken
 * between words; its own line breaks stay, and lines between ``` fences are not broken. The first line is not indented:
 * the caller stands there. Ends with a newline. */
void text_wrap(struct strbuf *out, const char *text, size_t len, size_t indent, size_t width);
/* Spaces until the line that began at byte `from` of `out` has `columns` columns. */
void text_pad(struct strbuf *out, size_t from, size_t columns);

void text_count(struct strbuf *out, int64_t number); /* 1,204 */
void text_bytes(struct strbuf *out, uint64_t bytes); /* 812 bytes, 52 KB */
void text_size(struct strbuf *out, uint64_t bytes);  /* 812 bytes, 51 KiB: beside a limit that is said so */
void text_ms(struct strbuf *out, int64_t ms);        /* 184 ms, 12.4 s, 2 min 03 s */
void text_money(struct strbuf *out, double usd);     /* $0.016 */
/* "2 min ago", "yesterday", "Nov 12", "2025-11-12". */
void text_ago(struct strbuf *out, int64_t then_us, int64_t now_us);
/* "1 step", "2 steps". */
void text_plural(struct strbuf *out, int64_t number, const char *one, const char *many);
