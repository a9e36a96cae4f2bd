#pragma once
/* The disk limit of a folder that programs write to: count what it holds, compare that with the limit, and watch it
 * while a program runs.
 *
 *     program->disk = disk_watch_new(loop, root, limit, on_full, on_counted, program);   // NULL: no limit
 *     disk_watch_finish(program->disk);                                                  // the last count
 *     disk_watch_free(program->disk);
 *
 * A watch counts on a pool thread, by its own descriptor, because the folder's owner may be freed before the thread
 * ends. Callbacks run on the loop. */

#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct disk_watch;
struct loop;

/* What a folder holds. */
struct disk_count {
    int64_t bytes;   /* of all files; a file with several links counts once; symbolic links are not followed */
    int64_t entries; /* files, folders and other entries */
    size_t missed;   /* folders that could not be counted */
    char why[192];   /* one of them, with the reason */
};
/* Counts while a program may run: puts back the modes of folders that the program closed. */
struct disk_count disk_count(int root);
/* The same, but leaves closed folders open. For use after the program has ended, and before staging. */
struct disk_count disk_count_opening(int root);

#define WORKSPACE_ENTRIES_MAX 200000 /* applies to every workspace whose bytes are limited */
/* Fails if `more` bytes would exceed the limit. */
int disk_check(int64_t limit, const struct disk_count *count, int64_t more, struct err *err) CHECKED;

#define DISK_WATCH_MIN_MS 20  /* shortest pause between two counts, under heavy writing */
#define DISK_WATCH_MAX_MS 500 /* longest pause, without writing */
#define DISK_WATCH_SHARE  20  /* a pause lasts at least this many times the last count */

/* Watches the folder open as `root`; returns NULL if `limit` is 0. `why` names the size and the limit.
 *
 * `full` is called once. Either the size is above the limit and above the previous count, so a program that only
 * reads or removes files may continue. Or the folder holds more uncountable folders than at the first count.
 *
 * `counted` reports the last count; its `why` is NULL if the size is within the limit. */
struct disk_watch *disk_watch_new(struct loop *loop, int root, int64_t limit, void (*full)(void *user, const char *why),
                                  void (*counted)(void *user, const char *why), void *user);
void disk_watch_finish(struct disk_watch *watch);
void disk_watch_free(struct disk_watch *watch); /* no callback runs after this */
