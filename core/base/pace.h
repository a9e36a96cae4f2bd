#pragma once
/* Limits how much is read at once of a stream that brings more than any receiver keeps: a portion, then a pause.
 *
 * A terminal gives little at a time, so reads count as well as bytes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pace {
    uint64_t after;      /* bytes after which pauses begin; 0: no pauses */
    uint64_t all, since; /* bytes in all, and since the last pause */
    int reads;           /* since the last pause */
};

/* Counts `got` bytes; true: a pause is due. */
bool pace_take(struct pace *pace, size_t got);
/* The pause is over. */
void pace_go_on(struct pace *pace);
