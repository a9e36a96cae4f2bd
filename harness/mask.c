#include "mask.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

void mask_add(struct mask *mask, const char *value)
{
    const size_t len = strlen(value);
    size_t at = 0;

    if (len < MASK_LEAST)
        return;
    GROW(mask->values, mask->count, mask->room);
    while (at < mask->count && mask->values[at].len >= len) /* the longest first: it wins where two begin alike */
        at++;
    memmove(mask->values + at + 1, mask->values + at, (mask->count - at) * sizeof(*mask->values));
    mask->values[at] = (struct masked){xstrdup(value), len};
    mask->count++;
    mask->first[(unsigned char)value[0]] = true;
}

void mask_clear(struct mask *mask)
{
    for (size_t i = 0; i < mask->count; i++) {
        explicit_bzero(mask->values[i].value, mask->values[i].len);
        free(mask->values[i].value);
    }
    free(mask->values);
    *mask = (struct mask)MASK_INIT;
}

/* How long the value is that stands at the beginning of the text, 0: none. `cut`: one may, but the text ends before. */
static size_t value_at(const struct mask *mask, const char *text, size_t len, bool *cut)
{
    *cut = false;
    if (!mask->first[(unsigned char)*text])
        return 0;
    for (size_t i = 0; i < mask->count; i++) {
        const struct masked *value = &mask->values[i];

        if (value->len > len)
            *cut |= memcmp(value->value, text, len) == 0;
        else if (memcmp(value->value, text, value->len) == 0)
            return value->len;
    }
    return 0;
}

static size_t mask_until(struct strbuf *out, const struct mask *mask, const char *text, size_t len, bool whole)
{
    size_t plain = 0, at = 0;

    while (at < len && mask->count) {
        bool cut;
        size_t found = value_at(mask, text + at, len - at, &cut);

        if (cut && !whole)
            break;
        if (!found) {
            at++;
            continue;
        }
        strbuf_add(out, text + plain, at - plain);
        strbuf_addstr(out, MASK_TEXT);
        plain = at += found;
    }
    if (!mask->count)
        at = len;
    strbuf_add(out, text + plain, at - plain);
    return at;
}

bool mask_finds(const struct mask *mask, const char *text, size_t len)
{
    bool cut;

    for (size_t at = 0; mask->count && at < len; at++)
        if (value_at(mask, text + at, len - at, &cut))
            return true;
    return false;
}

void mask_text(struct strbuf *out, const struct mask *mask, const char *text, size_t len)
{
    mask_until(out, mask, text, len, true);
}

size_t mask_part(struct strbuf *out, const struct mask *mask, const char *text, size_t len)
{
    return mask_until(out, mask, text, len, false);
}
