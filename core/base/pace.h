#pragma once
/* How much is read at once of a stream that brings more than anybody keeps: a portion, then a pause. A terminal gives
 * little at a time, so reads count as well as bytes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    uint64_t after;      /* up to so many bytes it may come as fast as it likes; 0: always */
    uint64_t all, since; /* bytes, and those since the last pause */
    int reads;           /* likewise */
};

/* So much has come; true: a pause is due. */
bool pace_take(struct pace *pace, size_t got);
/* The pause is over. */
void pace_go_on(struct pace *pace);
