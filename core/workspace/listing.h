#pragma once
/* Chooses which entries of a workspace its state lists, in one walk that has other users too (look.c):
 *
 *     struct listing *listing = listing_new(skills, count);
 *     listing_add(listing, entry, size);                     for every entry of the walk
 *     entries = listing_end(listing, arena, &more);
 *     listing_free(listing); */

#include "base/arena.h"
#include "event/event.h"
#include <stddef.h>
#include <stdint.h>

struct listing;
struct walk_entry;

/* `folders`: paths below which files are counted; they stay the caller's. */
struct listing *listing_new(const char *const *folders, size_t folder_count);
/* `size` of a file, else 0. */
void listing_add(struct listing *listing, const struct walk_entry *entry, int64_t size);
/* Chooses the entries, in the arena. `more`: how many are not listed. */
struct event_workspace_entry_list listing_end(struct listing *listing, struct arena *arena, int64_t *more);
/* The number of files below each folder. */
const int64_t *listing_files(const struct listing *listing);
void listing_free(struct listing *listing);
