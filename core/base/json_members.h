#pragma once
/* Walks the members of one JSON object, or the items of one array, without building values. Every byte is checked on the
 * way: what passes here also passes json_parse. */

#include <stdbool.h>
#include <stddef.h>

/* One member as it stands in the text. `value` of a string includes its quotes. */
struct json_member {
    const char *key; /* without quotes; NULL for an item of an array */
    size_t key_len;
    const char *value;
    size_t len;
    bool key_escaped; /* the key holds a backslash */
    bool escaped;     /* the value is a string that holds a backslash */
    bool spaced;      /* white space stands between the parts of the value */
};

struct json_members {
    const char *start;
    const char *at;
    const char *end;
    const char *wrong; /* what is wrong at `at` */
    char closer;       /* '}' or ']' once the container is open */
    bool began;        /* a member was read */
};

/* The text must be one object. */
void json_members_begin(struct json_members *scan, const char *text, size_t len);
/* The text must be one array. */
void json_items_begin(struct json_members *scan, const char *text, size_t len);
/* 1 and the next member or item, 0 after the last one when nothing follows the container, -1 with `wrong` set. */
int json_members_next(struct json_members *scan, struct json_member *member);

/* Undoes the escapes of the text between two quotes. `out` has room for `len` bytes; returns how many it took. */
size_t json_unescape(char *out, const char *text, size_t len);
/* Copies a checked value without the white space between its parts. Same promise about room. */
size_t json_squeeze(char *out, const char *value, size_t len);
