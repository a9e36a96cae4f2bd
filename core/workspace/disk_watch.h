#pragma once
/* Watches the disk limit of a workspace while a program runs.
 *
 *     program->disk = disk_watch_new(loop, ws, on_full, on_counted, program);   // NULL: no limit
 *     disk_watch_finish(program->disk);                                         // a look, unless nothing changed
 *     disk_watch_free(program->disk);
 *
 * A watch counts on a pool thread, and holds the workspace until that returns. Callbacks run on the loop. Counting
 * takes at most one part in DISK_WATCH_SHARE of the time, so a program that ends before the first pause costs no count.
 */

#include <stdint.h>

struct disk_watch;
struct loop;
struct workspace;

#define DISK_WATCH_MIN_MS 20  /* shortest pause between two counts, under heavy writing */
#define DISK_WATCH_MAX_MS 500 /* longest pause, without writing */
#define DISK_WATCH_SHARE  20  /* a pause lasts at least this many times the last count */

/* Returns NULL if the workspace has no limit. `why` names the size and the limit.
 *
 * `full` is called once. Either the size is above the limit and above the previous count, so a program that only
 * reads or removes files may continue. Or the folder holds more uncountable folders than at the first count.
 *
 * `counted` reports the last count; its `why` is NULL if the size is within the limit. */
struct disk_watch *disk_watch_new(struct loop *loop, struct workspace *ws, void (*full)(void *user, const char *why),
                                  void (*counted)(void *user, const char *why), void *user);
/* The program and all its processes have ended. */
void disk_watch_finish(struct disk_watch *watch);
void disk_watch_free(struct disk_watch *watch); /* no callback runs after this */
