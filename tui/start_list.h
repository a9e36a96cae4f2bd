#pragma once
/* What can be opened: recent sessions and the fixtures that come with the program, for the start screen, the picker and the
 * completion of :open. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct start_item {
    bool fixture;
    char *name;   /* "lines", "late-thread" */
    char *path;   /* what host->open gets; "demo" for the guided turn */
    char *about;  /* "turn 1 · 2 min ago · done", "a timed-out tool comes back late" */
    char *title;  /* of a session: its prompt; "" else */
};

struct start_list {
    struct start_item *items; /* sessions first, newest first; then fixtures, demo first */
    size_t count, room, sessions;
};

/* `fixtures` is their folder; NULL: beside the program, or where it is installed. `now_us` 0: the clock's. */
void start_list_load_at(struct start_list *list, const char *fixtures, int64_t now_us);
void start_list_load(struct start_list *list, const char *fixtures);
void start_list_release(struct start_list *list);
