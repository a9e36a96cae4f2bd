#pragma once
/* Text for a person's eyes: made harmless, measured, cut, wrapped. Signs and numbers are in base/spell.h. Where the
 * locale is not UTF-8 everything that is written here is ASCII. */

#include "base/spell.h"

/* Columns of the terminal on `fd`, or `otherwise`. */
size_t text_terminal_width(int fd, size_t otherwise);

/* Appends foreign text, sanitised (enum utf8_keep), and spelled as <U+00E9> where the locale wants ASCII. Tabs that are
 * kept become spaces up to the next multiple of eight from `text` on. */
void text_show(struct strbuf *out, const char *text, size_t len, unsigned keep);
/* The same on one line of at most `columns`, cut with an ellipsis; every white space is one space. Returns the columns.
 */
size_t text_show_cut(struct strbuf *out, const char *text, size_t len, size_t columns);
/* A text as it is, with a sign for each line break: several lines must not look like one with blanks. */
void text_breaks(struct strbuf *out, const char *text);
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

/* "2 min ago", "yesterday", "Nov 12", "2025-11-12". */
void text_ago(struct strbuf *out, int64_t then_us, int64_t now_us);
