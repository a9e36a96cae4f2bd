#pragma once
/* Keeps the values of secrets out of the harness's output, in texts and in byte streams where a value may arrive in
 * pieces. "[secret NAME]" replaces a value, as everywhere in Keyturn. Values shorter than MASK_LEAST bytes are not
 * masked, because they would match everywhere. Of a multi-line value, each line of at least MASK_LEAST_LINE bytes is
 * masked. The mask also finds a value as Python or JSON writes it between quotes, whichever characters they escape. */

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

#define MASK_LEAST      4
#define MASK_LEAST_LINE 8

struct mask {
    struct masked {
        char *value;
        size_t len;
        const char *name;
        bool form; /* derived from a value, which is in the list too */
    } * values;
    size_t count, room;
    bool first[256]; /* first bytes of all values */
};

#define MASK_INIT   \
    {               \
        NULL, 0, 0, \
        {           \
            false   \
        }           \
    }

/* The mask borrows the name until mask_clear. */
void mask_add(struct mask *mask, const char *name, const char *value);
/* Wipes and frees the values. */
void mask_clear(struct mask *mask);
bool mask_finds(const struct mask *mask, const char *text, size_t len);
void mask_text(struct strbuf *out, const struct mask *mask, const char *text, size_t len);
/* The same for a part of a stream. Stops where a value may have begun and returns the number of bytes it took. */
size_t mask_part(struct strbuf *out, const struct mask *mask, const char *text, size_t len);
