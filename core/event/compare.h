#pragma once
/* Whether a field of a recorded event and the same field of a run say the same, and where they differ first. What
 * differs by nature does not count: names made anew, times, today's date, what was remembered. */

#include "event.h"

struct difference {
    const char *path;           /* "result.output.size" */
    const char *recorded, *got; /* a text field as it is, else JSON; NULL: it is not there */
};

struct compared {
    const struct event *event;
    bool memory; /* the turn remembered something: its messages hold one more */
};

/* True and the first difference, in the arena. A field that the recording lacks is not compared. */
bool event_field_differs(struct arena *arena, const struct event_field *field, struct compared recorded,
                         struct compared got, struct difference *first);
