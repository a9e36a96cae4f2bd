#include "start_row.h"
#include <string.h>

#define GAP        2
#define TITLE_MIN  22
#define NAME_MAX   24
#define FOLDER_MAX 16

static void widen(int *width, const struct canvas *canvas, const char *text, int most)
{
    int columns = canvas_columns(canvas, text, strlen(text));
    if (columns > most)
        columns = most;
    if (columns > *width)
        *width = columns;
}

static int taken(const struct start_columns *columns)
{
    const int widths[] = {columns->folder, columns->state, columns->writes, columns->when};
    int sum = 0;
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
        sum += widths[i] ? widths[i] + GAP : 0;
    return sum;
}

struct start_columns start_columns_of(const struct canvas *canvas, const struct start_item *items, size_t count,
                                      int cols)
{
    struct start_columns columns = {0};
    for (size_t i = 0; i < count; i++) {
        if (items[i].fixture)
            widen(&columns.name, canvas, items[i].name, NAME_MAX < cols / 3 ? NAME_MAX : cols / 3);
        widen(&columns.folder, canvas, items[i].folder, FOLDER_MAX);
        widen(&columns.state, canvas, items[i].state, cols);
        widen(&columns.writes, canvas, items[i].writes, cols);
        widen(&columns.when, canvas, items[i].when, cols);
    }
    int *const leave_out[] = {&columns.folder, &columns.writes, &columns.when, &columns.state};
    for (size_t i = 0; i < sizeof(leave_out) / sizeof(leave_out[0]) && cols - taken(&columns) < TITLE_MIN; i++)
        *leave_out[i] = 0;
    columns.title = cols - taken(&columns);
    return columns;
}

/* Text that does not fit says so at its end. */
static void paint_cut(struct canvas *canvas, struct rect in, int row, int col, int width, enum look look,
                      const char *text)
{
    struct rect cell = rect_make(in.row, in.col + col, in.rows, width);
    if (width <= 0)
        return;
    if (canvas_columns(canvas, text, strlen(text)) <= width) {
        canvas_text(canvas, cell, row, 0, look, text, strlen(text));
        return;
    }
    const char *more = canvas_sign(canvas, SIGN_MORE);
    int room = width - canvas_columns(canvas, more, strlen(more));
    cell.cols = room > 0 ? room : 0;
    int at = canvas_text(canvas, cell, row, 0, look, text, strlen(text));
    cell.cols = width;
    canvas_put_sign(canvas, cell, row, at, look, SIGN_MORE);
}

static enum look look_of_state(const struct start_item *item)
{
    if (item->running)
        return LOOK_STRONG;
    return strcmp(item->state, "done") == 0 || strcmp(item->state, "no turn") == 0 ? LOOK_DIM : LOOK_WARN;
}

void start_row_paint(struct canvas *canvas, struct rect in, int row, const struct start_columns *columns,
                     const struct start_item *item)
{
    if (item->fixture) {
        paint_cut(canvas, in, row, 0, columns->name, LOOK_TEXT, item->name);
        paint_cut(canvas, in, row, columns->name + GAP, in.cols - columns->name - GAP, LOOK_DIM, item->title);
        return;
    }
    const struct {
        int width;
        enum look look;
        const char *text;
    } cells[] = {{columns->folder, LOOK_DIM, item->folder},
                 {columns->state, look_of_state(item), item->state},
                 {columns->writes, LOOK_DIM, item->writes},
                 {columns->when, LOOK_DIM, item->when}};
    int at = columns->title + GAP;
    bool none = !*item->title;
    paint_cut(canvas, in, row, 0, columns->title, none ? LOOK_DIM : LOOK_TEXT, none ? "(no prompt yet)" : item->title);
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        paint_cut(canvas, in, row, at, cells[i].width, cells[i].look, cells[i].text);
        at += cells[i].width ? cells[i].width + GAP : 0;
    }
}
