#pragma once
/* What a session is about, read from the two ends of its journal: who lists a hundred of them must not pay for what is
 * in between. What was asked for stands at the beginning, how it went at the end. */

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct peek {
    char *prompt;    /* of the first turn, "" before any */
    char *workspace; /* "" when it does not say */
    char *model;
    char *ended; /* status of the newest turn that ended, "" when none did */
    int64_t turns;
    int64_t writes; /* applied, among what was read */
    bool all;       /* everything was read: `writes` are all there are */
    bool under_way; /* the newest turn has not ended */
    bool waits;     /* its newest question has no answer */
    bool broken;    /* a line that was read is no event, and it is not one that a crash cut short */
};

/* -1 and why, when it cannot be read or does not begin as a journal. */
int peek_read(struct peek *peek, const char *path, struct err *err) CHECKED;
void peek_release(struct peek *peek);

static inline void peek_cleanup(struct peek *peek)
{
    peek_release(peek);
}
