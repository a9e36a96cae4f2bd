#pragma once
/* What can be opened: recent sessions, and the fixtures that come with the program. Used by the start screen, the
 * picker and the completion of :open. */

#include "screen/canvas.h"

struct open_item {
    bool fixture;
    bool running; /* in another process: it can be watched, not resumed */
    char *name;   /* of a fixture, "late-thread"; of a session, the name of its file */
    char *path;   /* argument of host->open; "demo" for the guided turn */
    char *title;  /* what a fixture shows, or a session's name or first prompt, on one line */
    char *when;   /* "2 min ago"; this and the following are "" for a fixture */
    char *folder; /* "lines", "scratch copy" */
    char *state;  /* "done", "cut off", "running" */
    char *writes; /* "2 writes"; "" if unknown */
};

struct open_list {
    struct open_item *items; /* sessions first, newest first; then fixtures, demo first */
    size_t count, room, sessions;
};

/* `fixtures` is their folder; NULL: the folder of the demo. `now_us` 0: use the clock. */
void open_list_load(struct open_list *list, const char *fixtures, int64_t now_us);
/* Only the sessions that `text` names (sessions_keep_named); "": all sessions. */
void open_list_find(struct open_list *list, const char *text);
void open_list_release(struct open_list *list);

/* The columns of a row: the first prompt, because that is what users remember, then folder, state, writes and time. If
 * a row is too narrow, whole columns are left out, the folder first. */
struct start_columns {
    int name;                        /* of fixtures */
    int folder, state, writes, when; /* of sessions; 0: column left out */
    int title;
};

/* The columns for items that are shown together in `cols` columns. */
struct start_columns start_columns_of(const struct canvas *canvas, const struct open_item *items, size_t count,
                                      int cols);
/* Paints one item into row `row` of `in`, which is `cols` wide. */
void start_row_paint(struct canvas *canvas, struct rect in, int row, const struct start_columns *columns,
                     const struct open_item *item);
