#pragma once
/* What utf8.c and utf8_width.c share; nobody else includes it. */

#include <stdbool.h>
#include <stdint.h>

/* Characters that show nothing, or that reorder or join their neighbours; utf8_sanitize spells them out. */
bool utf8_hidden(uint32_t cp);
