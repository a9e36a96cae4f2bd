#pragma once
/* Keeps the values of secrets out of what leaves the harness: in texts, and in streams of bytes where a value may come
 * in pieces. In their place stands "[secret NAME]", as wherever something is shown. Values shorter than MASK_LEAST
 * bytes are not masked: they would be found everywhere. Of a value of several lines each one is masked that has
 * MASK_LEAST_LINE bytes. Masked is also what Python and JSON make of a value between quotes, whichever of its
 * characters they escape. */

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
        bool form; /* made of a value, which is here too */
    } * values;
    size_t count, room;
    bool first[256]; /* bytes with which a value begins */
};

#define MASK_INIT   \
    {               \
        NULL, 0, 0, \
        {           \
            false   \
        }           \
    }

/* The name is borrowed until mask_clear. */
void mask_add(struct mask *mask, const char *name, const char *value);
/* Forgets the values, and wipes them. */
void mask_clear(struct mask *mask);
bool mask_finds(const struct mask *mask, const char *text, size_t len);
void mask_text(struct strbuf *out, const struct mask *mask, const char *text, size_t len);
/* The same for a part of a stream: stops where a value may have begun, and tells how many bytes it took. */
size_t mask_part(struct strbuf *out, const struct mask *mask, const char *text, size_t len);
