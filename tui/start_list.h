#pragma once
/* What can be opened: recent sessions and the fixtures that come with the program, for the start screen, the picker and
 * the completion of :open. */

#include "canvas.h"

struct start_item {
    bool fixture;
    bool running; /* in another process: it can be watched, not gone on with */
    char *name;   /* of a fixture, "late-thread"; of a session that of its file */
    char *path;   /* what host->open gets; "demo" for the guided turn */
    char *title;  /* what a fixture shows; the first prompt of a session, on one line */
    char *when;   /* "2 min ago"; this and what follows is "" for a fixture */
    char *folder; /* "lines", "scratch copy" */
    char *state;  /* "done", "cut off", "running" */
    char *writes; /* "2 writes"; "" when nobody counted */
};

struct start_list {
    struct start_item *items; /* sessions first, newest first; then fixtures, demo first */
    size_t count, room, sessions;
};

/* `fixtures` is their folder; NULL: where the demo is. `now_us` 0: the clock's. */
void start_list_load(struct start_list *list, const char *fixtures, int64_t now_us);
void start_list_release(struct start_list *list);

/* A row of it: what was asked for first, since that is what people remember, then where, how it went, how much it wrote
 * and when, in columns. What does not fit leaves whole columns out, the folder first. */
struct start_columns {
    int name;                        /* of fixtures */
    int folder, state, writes, when; /* of sessions; 0: left out */
    int title;
};

/* For the items that are shown together in `cols` columns. */
struct start_columns start_columns_of(const struct canvas *canvas, const struct start_item *items, size_t count,
                                      int cols);
/* Paints one into row `row` of `in`, which is `cols` wide. */
void start_row_paint(struct canvas *canvas, struct rect in, int row, const struct start_columns *columns,
                     const struct start_item *item);
