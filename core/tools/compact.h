#pragma once
/* Making a tool's output small enough for the model, the same way every time (S4, D36):
 * an object with an `entries` list: the list is cut to 200, nothing else is touched; otherwise strings are cut to 3,000
 * characters at every level, a top-level list to 200 items, a top-level object to its first 80 members, and containers
 * below level 4 become a short text. */

#include <stdbool.h>
#include <stddef.h>

struct json;
struct strbuf;

#define COMPACT_INLINE_MAX 12000 /* characters of the compacted output, in JSON_PYTHON style (D38) */

/* Appends the compacted value as JSON in `style` (enum json_style). */
void compact_write(struct strbuf *out, const struct json *value, unsigned style);
/* The length that the threshold looks at. */
size_t compact_length(const struct json *value);
/* Whether text that compact_write made in JSON_COMPACT is within the threshold for certain, without measuring it. */
bool compact_is_short(const char *text, size_t len);
