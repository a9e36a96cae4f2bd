#pragma once
/* What a program writes, against what its workspace may hold: counted by and by while it runs, and once more when it
 * has ended. Counting is work for a thread, by a descriptor of its own: the workspace may be gone before the thread is.
 *
 *     program->disk = disk_watch_new(loop, ws, on_full, on_counted, program);   // NULL: there is no limit
 *     disk_watch_finish(program->disk);                                         // the last count; on_counted tells
 *     disk_watch_free(program->disk); */

struct loop;
struct workspace;
struct disk_watch;

#define DISK_WATCH_MIN_MS 20  /* between two counts, while much is written … */
#define DISK_WATCH_MAX_MS 500 /* … and while nothing is … */
#define DISK_WATCH_SHARE  20  /* … but never less than so many times as long as one takes */

/* `why` says how much there is and may be. `full`: there is more than there may be, and more than at the count before,
 * so that who only reads or removes is left to it; or there is more than at the first count that cannot be counted.
 * Told once. `counted`: the last count; NULL: all is well. */
struct disk_watch *disk_watch_new(struct loop *loop, const struct workspace *ws,
                                  void (*full)(void *user, const char *why),
                                  void (*counted)(void *user, const char *why), void *user);
void disk_watch_finish(struct disk_watch *watch);
void disk_watch_free(struct disk_watch *watch); /* nobody is told any more */
