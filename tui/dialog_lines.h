#pragma once
/* A dialog that lists the lines of a text: narrowed down by what is typed, one of them chosen. What a line looks like and what
 * a key does with it is told by whoever makes one. */

#include "dialog.h"
#include "narrow.h"

struct dialog_lines {
    struct dialog dialog;
    struct narrow narrow;
};

struct dialog_lines_ops {
    struct dialog_ops dialog; /* DIALOG_LINES */
    const char *title;
    const char *footer;                           /* while there are lines */
    const char *(*text)(const struct view *view); /* may be NULL */
    void (*paint)(const struct view *view, struct canvas *canvas, struct rect body, int row, const char *line, size_t len);
    void (*say_none)(struct strbuf *out, struct ui *ui, const struct view *view); /* where there are no lines */
    bool (*key)(struct ui *ui, const struct key *key, const char *line, size_t len); /* true: it was for the chosen line */
};

struct dialog *dialog_lines_new(const struct dialog_lines_ops *ops);

void dialog_lines_release(struct dialog *dialog);
struct rect dialog_lines_place(struct dialog *dialog, const struct view *view, int rows, int cols);
void dialog_lines_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                       struct rect inside);
bool dialog_lines_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                     enum action action);
const char *dialog_lines_title(struct dialog *dialog, const struct view *view);
const char *dialog_lines_footer(struct dialog *dialog, const struct view *view);

#define DIALOG_LINES(NAME)                                                                                              \
    {.name = (NAME),                                                                                                   \
     .size = sizeof(struct dialog_lines),                                                                               \
     .release = dialog_lines_release,                                                                                   \
     .place = dialog_lines_place,                                                                                       \
     .paint = dialog_lines_paint,                                                                                       \
     .key = dialog_lines_key,                                                                                           \
     .title = dialog_lines_title,                                                                                       \
     .footer = dialog_lines_footer}
