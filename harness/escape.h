#pragma once
/* NUL in JSON texts. Every text of ours is a C string, and the parser refuses `\u0000`; the harness must answer a text
 * that holds one all the same. */

#include <stddef.h>

struct arena;

/* The same JSON text with U+FFFD for every escaped NUL, byte for byte at the same place; `text` itself if it has none.
 */
const char *escape_without_nul(struct arena *arena, const char *text, size_t len);
