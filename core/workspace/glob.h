#pragma once
/* Patterns for relative paths with '/': `*` and `?` and `[…]` stay within a component, `**` as a whole component is any
 * number of them, `{a,b}` is a choice (nested, may hold '/' and be empty), `\` takes the next character as it is.
 * A folder followed by `**` matches the folder itself too. Dot files are not special; upper and lower case differ. */

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct beneath;
struct glob;

/* Returns NULL if the pattern is malformed: an unterminated class or choice, an empty class, a lone `}`, a backslash
 * at the end, or more than GLOB_CHOICES_MAX ways to read it. */
struct glob *glob_new(const char *pattern, struct err *err) CHECKED;
void glob_free(struct glob *glob);
bool glob_match(const struct glob *glob, const char *name);
/* True if an entry below this folder could match. A search skips other folders. */
bool glob_may_lead(const struct glob *glob, const char *folder);
/* The deepest folder that contains all matches, as far as the pattern has it as plain text; "" if it does not. If
 * the pattern is only plain text, sets `whole` and returns the path itself. The caller frees it. */
char *glob_base(const struct glob *glob, bool *whole);

#define GLOB_CHOICES_MAX 1024

struct glob_hit {
    char *path;  /* as it matched, relative to the root */
    bool linked; /* a link is on the way or at its end: the target may be elsewhere, a folder, or missing */
};

struct glob_hits {
    struct glob_hit *items; /* sorted by the bytes of their paths, each path once */
    size_t count, room;
    struct glob_left {
        char *path, *why;
    } * left; /* matches that are neither file nor link, and folders that could not be read */
    size_t left_count, left_room;
    bool cut; /* the search is incomplete: too many entries, too deep, too many links, or an unreadable folder */
};

#define GLOB_HITS_MAX   (1 << 20)
#define GLOB_LEFT_MAX   1000      /* entries named; more add no information */
#define GLOB_LINKS_MAX  1024      /* folders entered through links */
#define GLOB_LINKED_MAX (1 << 20) /* entries seen behind them */

/* Finds the files below a root that match a pattern. Reads only folders that the pattern can lead into; a plain-text
 * beginning is opened directly. Follows links to folders while they stay inside, up to a limit. Files and links are
 * hits. The search opens none of them, because opening a FIFO wakes its writer. A pattern that leaves the root has
 * no hits. Release `hits` in any case. */
int glob_find(const struct beneath *root, const char *pattern, struct glob_hits *hits, struct err *err) CHECKED;
void glob_hits_release(struct glob_hits *hits);
static inline void glob_hits_cleanup(struct glob_hits *hits)
{
    glob_hits_release(hits);
}
