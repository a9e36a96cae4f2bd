#pragma once
/* Walks the members of one line's object and checks every byte on the way, without building anything. What event.c,
 * event_decode.c and journal.c share; nobody else includes it. */

#include "event.h"

/* One member as it stands in the line. Texts point into it; `value` of a string includes its quotes. */
struct event_member {
    const char *key; /* without quotes */
    size_t key_len;
    const char *value;
    size_t len;
    bool key_escaped; /* the key holds a backslash */
    bool escaped;     /* the value is a string that holds a backslash */
    bool spaced;      /* white space stands between the parts of the value */
};

struct event_scan {
    const char *start;
    const char *at;
    const char *end;
    const char *wrong; /* what was found amiss at `at` */
    bool open;         /* past the opening brace */
};

void event_scan_begin(struct event_scan *scan, const char *line, size_t len);
/* 1 and the next member, 0 after the last one when nothing follows the object, -1 with `wrong` set. */
int event_scan_next(struct event_scan *scan, struct event_member *member);

/* Undoes the escapes of what stands between two quotes. `out` has room for `len` bytes; returns how many it took. */
size_t event_scan_unescape(char *out, const char *text, size_t len);
/* Copies a checked value without the white space between its parts. The same promise about room. */
size_t event_scan_squeeze(char *out, const char *value, size_t len);

/* Appends the line of `event` with its seq and t, whatever its raw line says: every other member of the raw line stays
 * as it is. For an event without a raw line the same as event_encode. */
void event_encode_numbered(struct strbuf *out, const struct event *event);
