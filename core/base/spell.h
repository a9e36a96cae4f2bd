#pragma once
/* Spells signs, numbers, sizes, times and money for people. If the locale is not UTF-8, everything is ASCII. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* True if the user's terminal understands UTF-8, by LC_ALL, LC_CTYPE and LANG. */
bool text_utf8(void);

/* Our signs and their ASCII forms. */
const char *text_dot(void);      /* "·" or "-" */
const char *text_ellipsis(void); /* "…" or "..." */
const char *text_newline(void);  /* "⏎" or "\\n": a line break where everything is on one line */

void text_count(struct strbuf *out, int64_t number); /* 1,204 */
void text_bytes(struct strbuf *out, uint64_t bytes); /* 812 bytes, 51 KB; a KB has 1024 bytes, as in limits */
void text_ms(struct strbuf *out, int64_t ms);        /* 184 ms, 12.4 s, 2 min 03 s */
void text_money(struct strbuf *out, double usd);     /* $0.016 */
/* "1 step", "2 steps". */
void text_plural(struct strbuf *out, int64_t number, const char *one, const char *many);
