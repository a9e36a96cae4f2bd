#pragma once
/* Patterns for relative paths with '/': `*` and `?` and `[…]` stay within a component, `**` as a whole component is any
 * number of them, `{a,b}` is a choice (nested, may hold '/' and be empty), `\` takes the next character as it is.
 * A folder followed by `**` matches the folder itself too. Dot files are not special; upper and lower case differ. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct beneath;
struct glob;

/* NULL when the pattern is malformed: a class or a choice that does not end, an empty class, a lone `}` or a backslash
 * at the end, more than GLOB_CHOICES_MAX ways to read it. */
struct glob *glob_new(const char *pattern, struct err *err) CHECKED;
void glob_free(struct glob *glob);
bool glob_match(const struct glob *glob, const char *name);
/* Whether anything below this folder could match: what a search need not look at. */
bool glob_may_lead(const struct glob *glob, const char *folder);
/* The folder that everything that matches is in, as far as the pattern says it in plain text ("" when it does not).
 * When there is nothing but plain text, `whole` is set and it is the path itself. The caller's. */
char *glob_base(const struct glob *glob, bool *whole);

#define GLOB_CHOICES_MAX 1024

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

#define GLOB_HITS_MAX   (1 << 20)
#define GLOB_LEFT_MAX   1000      /* named; more tell nothing new */
#define GLOB_LINKS_MAX  1024      /* folders entered through links */
#define GLOB_LINKED_MAX (1 << 20) /* entries seen behind them */

/* The files below a root that fit a pattern. Only folders that the pattern can lead into are read, and the part of it
 * that is plain text is not searched for. Links to folders are followed while they stay inside, but not forever. Files
 * and links are hits, and nothing is opened to find out: opening a FIFO wakes its writer. A pattern that climbs out of
 * the root has no hits. Release `hits` in any case. */
int glob_find(const struct beneath *root, const char *pattern, struct glob_hits *hits, struct err *err) CHECKED;
void glob_hits_release(struct glob_hits *hits);
static inline void glob_hits_cleanup(struct glob_hits *hits)
{
    glob_hits_release(hits);
}
