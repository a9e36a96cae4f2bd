#pragma once
/* Compares a field of a recorded event with the same field of a new run, and finds the first difference.
 *
 * Expected differences do not count: generated names, times, today's date, memory. */

#include "event.h"

struct difference {
    const char *path;           /* "result.output.size" */
    const char *recorded, *got; /* a text field unchanged, else JSON; NULL: missing */
};

struct compared {
    const struct event *event;
    bool memory; /* the turn loaded memory: its messages hold one more */
};

/* Returns true with the first difference, in the arena. Skips fields that the recording lacks. */
bool event_field_differs(struct arena *arena, const struct event_field *field, struct compared recorded,
                         struct compared got, struct difference *first);
