#pragma once
/* The texts of a call's row in the tool trace: its arguments in short, what came of it, why it went wrong, what it
 * printed last. They come from up to four lines of the journal and are remembered until one of those is another. */

#include "filter.h"
#include "told.h"

#define TOOLROWS_KEPT 128

struct toolrow {
    const struct journal_reader *lines; /* NULL: nothing is kept here */
    uint32_t call, started_seq, finished_seq, output_seq, edits;
    bool late;
    char *arguments;
    char *effect; /* in a word; "" where it is not known */
    char *note;   /* "52 lines"; "" */
    char *reason; /* why it was denied, how it failed */
    char *log;    /* the newest thing it told, on one line; NULL: it told nothing */
    char *stream; /* its label */
    enum told_kind kind;
    int64_t elapsed_ms;
    uint64_t bytes; /* of what came back; UINT64_MAX: nothing did */
};

struct toolrows {
    struct toolrow kept[TOOLROWS_KEPT];
};

void toolrows_release(struct toolrows *rows);
/* Good until the next call. */
const struct toolrow *toolrows_read(struct toolrows *rows, const struct view *view, uint32_t call);

/* The name of a tool, to the end of the place. One that is too long goes without what others of its family begin with too:
 * "…write_stdin". */
int toolrow_name_columns(const char *name, int most); /* that it takes of so many at most */
void toolrow_paint_name(struct canvas *canvas, struct rect in, int row, int col, enum look look, const char *name);

/* Whether a call fits: kinds are its tool, its state and its effect; a call is its id or its number; texts are looked
 * for in all of that and in what its row says. Adds what it cost to `bytes`. */
bool toolrows_fit(struct toolrows *rows, const struct view *view, uint32_t call, const struct filter *filter,
                  size_t *bytes);
/* How many calls, from the first on, stay as they are: every call of an answer has its outcome before the next answer.
 */
uint32_t toolrows_settled(const struct session *session);
