/* Escapes NUL in JSON texts, which C strings cannot hold. */

#include "escape.h"
#include "base/arena.h"
#include <string.h>

const char *escape_without_nul(struct arena *arena, const char *text, size_t len)
{
    char *copy;

    if (!memmem(text, len, "\\u0000", 6))
        return text;
    copy = arena_memdup0(arena, text, len);
    for (size_t i = 0; i + 1 < len; i++) {
        if (copy[i] != '\\')
            continue;
        if (len - i >= 6 && memcmp(copy + i, "\\u0000", 6) == 0)
            memcpy(copy + i, "\\ufffd", 6);
        i++; /* an escaped backslash starts no escape */
    }
    return copy;
}
