#pragma once
/* A dialog that lists the lines of a text: narrowed down by what is typed, one of them chosen. What a line looks like and what
 * a key does with it is told by whoever makes one. */

#include "modal.h"
#include "narrow.h"

struct modal_lines {
    struct modal modal;
    struct narrow narrow;
};

struct modal_lines_ops {
    struct modal_ops modal; /* MODAL_LINES */
    const char *title;
    const char *footer;                           /* while there are lines */
    const char *(*text)(const struct view *view); /* may be NULL */
    void (*paint)(const struct view *view, struct canvas *canvas, struct rect body, int row, const char *line, size_t len);
    void (*say_none)(struct strbuf *out, struct ui *ui, const struct view *view); /* where there are no lines */
    bool (*key)(struct ui *ui, const struct key *key, const char *line, size_t len); /* true: it was for the chosen line */
};

struct modal *modal_lines_new(const struct modal_lines_ops *ops);

void modal_lines_release(struct modal *modal);
struct rect modal_lines_place(struct modal *modal, const struct view *view, int rows, int cols);
void modal_lines_paint(struct modal *modal, struct ui *ui, const struct view *view, struct canvas *canvas,
                       struct rect inside);
bool modal_lines_key(struct modal *modal, struct ui *ui, const struct view *view, const struct key *key,
                     enum action action);
const char *modal_lines_title(struct modal *modal, const struct view *view);
const char *modal_lines_footer(struct modal *modal, const struct view *view);

#define MODAL_LINES(NAME)                                                                                              \
    {.name = (NAME),                                                                                                   \
     .size = sizeof(struct modal_lines),                                                                               \
     .release = modal_lines_release,                                                                                   \
     .place = modal_lines_place,                                                                                       \
     .paint = modal_lines_paint,                                                                                       \
     .key = modal_lines_key,                                                                                           \
     .title = modal_lines_title,                                                                                       \
     .footer = modal_lines_footer}
