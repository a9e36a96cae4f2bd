#include "narrow.h"
#include "base/mem.h"
#include <string.h>

#define LABEL "show: "

void narrow_init(struct narrow *narrow)
{
    *narrow = (struct narrow){0};
    filter_init(&narrow->filter);
    input_init(&narrow->line, false);
}

void narrow_release(struct narrow *narrow)
{
    filter_release(&narrow->filter);
    matches_release(&narrow->matches);
    input_release(&narrow->line);
}

struct rect narrow_paint(const struct narrow *narrow, struct canvas *canvas, struct rect inside)
{
    if (!narrow->typing && !narrow->line.text.len)
        return inside;
    struct rect line = rect_make(inside.row, inside.col + 1, 1, inside.cols - 2);
    if (narrow->typing) {
        input_paint(&narrow->line, canvas, line, LABEL);
    } else {
        int col = canvas_str(canvas, line, 0, 0, LOOK_INPUT, LABEL);
        canvas_cut(canvas, line, 0, col, LOOK_INPUT, narrow->line.text.buf, narrow->line.text.len);
    }
    return rect_make(inside.row + 1, inside.col, inside.rows - 1, inside.cols);
}

struct asked {
    const struct filter *filter;
    bool (*fits)(const struct filter *filter, size_t row, const void *data);
    const void *data;
};

static bool row_fits(size_t row, void *data)
{
    const struct asked *asked = data;
    return asked->fits(asked->filter, row, asked->data);
}

size_t narrow_rows(struct narrow *narrow, size_t total,
                   bool (*fits)(const struct filter *filter, size_t row, const void *data), const void *data)
{
    struct asked asked = {&narrow->filter, fits, data};
    matches_reset(&narrow->matches);
    matches_work(&narrow->matches, total, total, row_fits, &asked);
    return narrow->matches.count;
}

size_t narrow_row(const struct narrow *narrow, size_t index)
{
    return index < narrow->matches.count ? narrow->matches.rows[index] : SIZE_MAX;
}

bool narrow_paint_nothing(const struct narrow *narrow, struct canvas *canvas, struct rect in)
{
    if (!narrow->filter.count)
        return false;
    canvas_str(canvas, in, 0, 1, LOOK_DIM, "Nothing here has that in it. Backspace takes letters back.");
    return true;
}

static void retell(struct narrow *narrow, struct dialog *dialog)
{
    filter_parse_texts(&narrow->filter, narrow->line.text.buf);
    dialog->list.cursor = dialog->list.top = 0;
}

enum narrow_key narrow_key(struct narrow *narrow, struct dialog *dialog, const struct key *key, enum action action)
{
    if (!narrow->typing) {
        narrow->typing = action == ACTION_SEARCH || action == ACTION_FILTER;
        return narrow->typing ? NARROW_TAKEN : NARROW_NOT;
    }
    switch (input_key(&narrow->line, key)) {
    case INPUT_CHANGED:
        retell(narrow, dialog);
        return NARROW_CHANGED;
    case INPUT_CLOSED:
        input_set(&narrow->line, "");
        narrow->typing = false;
        retell(narrow, dialog);
        return NARROW_CHANGED;
    case INPUT_DONE:
        narrow->typing = false;
        return NARROW_TAKEN;
    case INPUT_IGNORED:
        break;
    }
    if (list_action(&dialog->list, action, dialog->height))
        return NARROW_TAKEN;
    return action == ACTION_CANCEL || action == ACTION_SUSPEND || action == ACTION_REDRAW ? NARROW_NOT : NARROW_TAKEN;
}

const char *narrow_footer(const struct narrow *narrow, const char *otherwise)
{
    return narrow->typing ? "Enter keep   Esc show all" : otherwise;
}
