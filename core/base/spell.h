#pragma once
/* Signs, numbers, sizes, times and money, spelled the way people read them. Where the locale is not UTF-8 everything is
 * ASCII. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* Whether the user's terminal understands UTF-8, by LC_ALL, LC_CTYPE and LANG. */
bool text_utf8(void);

/* Signs of our own with their plain twins. */
const char *text_dot(void);      /* "·" or "-" */
const char *text_ellipsis(void); /* "…" or "..." */
const char *text_newline(void);  /* "⏎" or "\\n": a line break where everything is on one line */

void text_count(struct strbuf *out, int64_t number); /* 1,204 */
void text_bytes(struct strbuf *out, uint64_t bytes); /* 812 bytes, 52 KB */
void text_size(struct strbuf *out, uint64_t bytes);  /* 812 bytes, 51 KiB: beside a limit that is said so */
void text_ms(struct strbuf *out, int64_t ms);        /* 184 ms, 12.4 s, 2 min 03 s */
void text_money(struct strbuf *out, double usd);     /* $0.016 */
/* "1 step", "2 steps". */
void text_plural(struct strbuf *out, int64_t number, const char *one, const char *many);
