#pragma once
/* The head and the tail of an output that is too long, with a mark between them. */

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

#define WINDOW_MARK "\n...[output truncated]...\n"

/* Appends the text in at most `max_bytes` (0: all of it), cutting no character in two; bytes that are no UTF-8 are left
 * out when there is a limit. The head gets the odd byte; where not even the mark fits, there is only a head. True when
 * what came out is not what went in. */
bool window_text(struct strbuf *out, const char *text, size_t len, size_t max_bytes);
