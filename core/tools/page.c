/* Measuring goes through the writer itself: what a character costs is its business. */

#include "page.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "compact.h"

#define MARGIN   600 /* for the members around the entries */
#define ROOM_MIN 1000

size_t page_cost(const char *text, size_t len)
{
    return json_str_length(text, len, JSON_PYTHON);
}

size_t page_room(const char *about)
{
    size_t taken = page_cost(about, strlen(about)) + MARGIN;
    return taken + ROOM_MIN < COMPACT_INLINE_MAX ? COMPACT_INLINE_MAX - taken : ROOM_MIN;
}

size_t page_fitting(const char *text, size_t len, size_t room)
{
    for (;;) {
        size_t cost = page_cost(text, len);
        if (cost <= room || len <= 4)
            return len;
        size_t less = len * room / cost;
        len = less < len ? less : len - 1;
        while (len > 1 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
        if (len == 0)
            len = 1;
    }
}
