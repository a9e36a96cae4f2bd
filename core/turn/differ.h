#pragma once
/* Whether a field of a recorded event and that of the run say the same, and where they differ first. What differs by
 * nature does not count: names that are made anew, times, today's date, what was remembered. */

#include "base/arena.h"
#include <stdbool.h>

struct difference {
    const char *path;           /* "result.output.size" */
    const char *recorded, *got; /* JSON; NULL: it is not there */
};

struct differ_side {
    const char *text; /* JSON; NULL: there is no such field */
    bool memory;      /* the turn remembered something: its messages hold one more */
};

/* True and the first difference, in the arena. */
bool differ_json(struct arena *arena, const char *field, struct differ_side recorded, struct differ_side got,
                 struct difference *first);
