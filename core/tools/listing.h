#pragma once
/* The names in a folder, sorted. */

#include <stdatomic.h>
#include <stddef.h>

struct listing_entry {
    char *name;
    unsigned char type; /* DT_REG, DT_DIR, DT_LNK… of the thing itself; DT_UNKNOWN when it is gone already */
};

struct listing {
    struct listing_entry *items;
    size_t count, room;
};

enum listing_order {
    LISTING_BY_NAME,
    LISTING_BY_PATH, /* a folder as if its name ended with '/': a walk in this order visits paths in their own */
};

/* Fills an empty listing, "." and ".." left out; the descriptor stays the caller's. 0, or -1 with errno (ECANCELED). */
int listing_read(struct listing *listing, int folder, enum listing_order order, const atomic_bool *cancelled);
void listing_release(struct listing *listing);
static inline void listing_cleanup(struct listing *listing)
{
    listing_release(listing);
}
