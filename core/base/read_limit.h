#pragma once
/* Limits the read rate of a stream: a portion, then a pause.
 *
 * A terminal gives little at a time, so reads count as well as bytes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct read_limit {
    uint64_t after;      /* bytes after which pauses begin; 0: no pauses */
    uint64_t all, since; /* bytes in all, and since the last pause */
    int reads;           /* since the last pause */
};

/* Counts `got` bytes; true: a pause is due. */
bool read_limit_take(struct read_limit *read_limit, size_t got);
/* The pause is over. */
void read_limit_resume(struct read_limit *read_limit);
