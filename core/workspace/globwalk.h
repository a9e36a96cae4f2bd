#pragma once
/* The files of a workspace that fit a pattern. Only folders that the pattern can lead into are read, and the part of it
 * that is plain text is not searched for. Links to folders are followed while they stay inside, but not for ever. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct beneath;

struct glob_hit {
    char *path;  /* as it fitted, relative to the root */
    bool linked; /* a link is on the way or at its end: what is there may be elsewhere, a folder, or nothing */
};

struct glob_hits {
    struct glob_hit *items; /* sorted by the bytes of their paths, each path once */
    size_t count, room;
    struct glob_left {
        char *path, *why;
    } * left; /* what fits and is neither file nor link, and folders that could not be looked into */
    size_t left_count, left_room;
    bool cut; /* not everything was looked at: too many, too deep, too many links, or a folder that cannot be read */
};

#define GLOBWALK_HITS_MAX   (1 << 20)
#define GLOBWALK_LEFT_MAX   1000      /* named; more tell nothing new */
#define GLOBWALK_LINKS_MAX  1024      /* folders entered through links */
#define GLOBWALK_LINKED_MAX (1 << 20) /* entries seen behind them */

/* Files and links are hits, and nothing is opened to tell: a FIFO that is opened wakes who writes to it. A pattern that climbs out of the root has no hits. `hits` is
 * to be released in any case. */
int globwalk(const struct beneath *root, const char *pattern, struct glob_hits *hits, struct err *err) CHECKED;
void glob_hits_release(struct glob_hits *hits);
static inline void glob_hits_cleanup(struct glob_hits *hits)
{
    glob_hits_release(hits);
}
