/* The start screen: prompt, recent sessions and recordings.
 *
 * Typing always edits the prompt, and arrows always move. The user need not open anything first. */

#include "start.h"
#include "base/mem.h"
#include "config/config.h"
#include "open_list.h"
#include "screen/input.h"
#include "session_list.h"
#include "ui.h"
#include <string.h>

#define PROMPT_ROWS_MAX 6
#define SIDE_BY_SIDE    160 /* columns from which the two lists are side by side */

enum start_place { AT_PROMPT, AT_SESSIONS, AT_FIXTURES };

struct start {
    struct dialog dialog;
    char *folder, *model, *config;
    struct open_list list;
    struct input prompt;
    enum start_place place;
    struct list sessions, fixtures;
};

static void start_release(struct dialog *dialog)
{
    struct start *start = (struct start *)dialog;
    free(start->folder);
    free(start->model);
    free(start->config);
    open_list_release(&start->list);
    input_release(&start->prompt);
}

static size_t fixture_count(const struct start *start)
{
    return start->list.count - start->list.sessions;
}

/* Paints the number of rows that do not fit, at the end of the title line. */
static void paint_more(struct canvas *canvas, struct rect in, const struct list *list, int rows)
{
    size_t shown = list->top + (size_t)rows;
    size_t below = list->count > shown ? list->count - shown : 0;
    CLEANUP(free)
    char *text = list->top && below ? xasprintf("%zu above · %zu below", list->top, below)
                 : below            ? xasprintf("%zu more below", below)
                 : list->top        ? xasprintf("%zu more above", list->top)
                                    : NULL;
    if (text)
        canvas_right(canvas, in, 0, 1, LOOK_DIM, text);
}

static void paint_list(struct start *start, struct canvas *canvas, struct rect in, enum start_place place)
{
    bool sessions = place == AT_SESSIONS, here = start->place == place;
    struct list *list = sessions ? &start->sessions : &start->fixtures;
    size_t first = sessions ? 0 : start->list.sessions, count = sessions ? start->list.sessions : fixture_count(start);
    struct rect body = rect_make(in.row + 1, in.col, in.rows - 1, in.cols);
    struct rect text = rect_make(body.row, body.col + 3, body.rows, body.cols - 4);
    if (in.rows < 2)
        return;
    canvas_str(canvas, in, 0, 1, here ? LOOK_STRONG : LOOK_MODAL_TITLE, sessions ? "Recent sessions" : "Recordings");
    if (!count)
        canvas_str(canvas, body, 0, 3, LOOK_DIM,
                   sessions ? "No sessions yet. Type a prompt above." : "No fixtures found (set KEYTURN_FIXTURES).");
    struct start_columns columns = start_columns_of(canvas, start->list.items + first, count, text.cols);
    list_update(list, count, body.rows);
    for (int i = 0; i < body.rows && list->top + (size_t)i < count; i++) {
        bool chosen = here && list->cursor == list->top + (size_t)i;
        if (chosen)
            canvas_put_sign(canvas, body, i, 1, LOOK_STRONG, SIGN_POINTER);
        start_row_paint(canvas, text, i, &columns, &start->list.items[first + list->top + (size_t)i]);
        if (chosen)
            canvas_tint(canvas, rect_make(body.row + i, body.col + 1, 1, body.cols - 2), LOOK_SELECT);
    }
    paint_more(canvas, in, list, body.rows);
}

/* On a low screen, blank lines and the path of the config file are left out to make room for the lists. */
static bool is_low(struct rect inside)
{
    return inside.rows < 18;
}

/* Paints the last two lines: the model and the config file. */
static void paint_model(const struct start *start, struct canvas *canvas, struct rect in)
{
    int row = in.rows - 1;
    if (start->model) {
        int at = 1 + canvas_str(canvas, in, row, 1, LOOK_TEXT, "model: ");
        canvas_text(canvas, in, row, at, LOOK_STRONG, start->model, strlen(start->model));
    } else {
        CLEANUP(free) char *config = sessions_folder(start->config);
        int line = is_low(in) ? row : row - 1;
        int at = 1 + canvas_str(canvas, in, line, 1, LOOK_WARN, "model: none configured");
        canvas_str(canvas, in, line, at, LOOK_TEXT, " (m adds one; the demo needs none)");
        if (!is_low(in))
            canvas_text(canvas, in, row, 1, LOOK_DIM, config, strlen(config));
    }
}

/* Rows of the upper of two lists that share `rows`: what it needs, unless the lower one needs more than is left. */
static int upper_rows(int rows, size_t upper, size_t lower)
{
    int need = (int)(upper < 500 ? upper : 500) + 2, other = (int)(lower < 500 ? lower : 500) + 1;
    if (need < 3)
        need = 3;
    if (need + other <= rows)
        return need;
    int half = (rows + 1) / 2;
    return need <= half ? need : other <= rows - half ? rows - other : half;
}

static void start_paint(struct dialog *dialog, struct canvas *canvas, struct rect inside)
{
    struct start *start = (struct start *)dialog;
    int head = is_low(inside) ? 0 : 1;
    int at = 1 + canvas_str(canvas, inside, head, 1, LOOK_STRONG, "What should the agent do here?");
    canvas_text(canvas, inside, head, at + 3, LOOK_DIM, start->folder, strlen(start->folder));
    struct rect prompt = rect_make(inside.row + head + 1, inside.col + 3, PROMPT_ROWS_MAX, inside.cols - 6);
    int wants = input_paint(&start->prompt, canvas, rect_make(canvas->rows, 0, 1, prompt.cols), "");
    prompt.rows = wants < 1 ? 1 : wants > PROMPT_ROWS_MAX ? PROMPT_ROWS_MAX : wants;
    canvas_fill(canvas, prompt, LOOK_INPUT);
    input_paint(&start->prompt, canvas, prompt, "");
    if (start->place != AT_PROMPT)
        canvas->cursor_row = canvas->cursor_col = -1;
    if (!start->prompt.text.len && start->place == AT_PROMPT)
        canvas_str(canvas, prompt, 0, 2, LOOK_DIM,
                   start->model ? "type a prompt, Enter sends it" : "no model yet: press m, or choose below");
    int top = head + 1 + prompt.rows + 1, rows = inside.rows - top - (start->model || is_low(inside) ? 2 : 3);
    struct rect lists = rect_make(inside.row + top, inside.col, rows, inside.cols);
    if (inside.cols >= SIDE_BY_SIDE) {
        int half = inside.cols / 2;
        paint_list(start, canvas, rect_make(lists.row, lists.col, rows, half), AT_SESSIONS);
        paint_list(start, canvas, rect_make(lists.row, lists.col + half, rows, inside.cols - half), AT_FIXTURES);
    } else {
        int upper = upper_rows(rows, start->list.sessions, fixture_count(start));
        paint_list(start, canvas, rect_make(lists.row, lists.col, upper - 1, inside.cols), AT_SESSIONS);
        paint_list(start, canvas, rect_make(lists.row + upper, lists.col, rows - upper, inside.cols), AT_FIXTURES);
    }
    paint_model(start, canvas, inside);
}

static void choose(struct start *start, struct ui *ui)
{
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    size_t row = start->place == AT_SESSIONS ? start->sessions.cursor : start->list.sessions + start->fixtures.cursor;
    if (start->place != AT_PROMPT && row < start->list.count) {
        CLEANUP(free) char *path = xstrdup(start->list.items[row].path);
        ui_open(ui, path);
    } else if (strspn(start->prompt.text.buf, " \t\n") == start->prompt.text.len) {
        ui_message(ui, LOOK_TEXT, "Type a prompt, or choose below with the arrows.");
    } else {
        CLEANUP(free) char *prompt = xstrdup(start->prompt.text.buf);
        if (host->submit(host, &(struct intent){.type = INTENT_START, .start = {prompt}}, &err))
            ui_message(ui, LOOK_ERROR, "%s", err.text);
    }
}

/* Down moves from the prompt into the lists, Up moves back, Tab cycles. */
static void move_down(struct start *start, bool stacked)
{
    size_t sessions = start->list.sessions, fixtures = fixture_count(start);
    if (start->place == AT_PROMPT)
        start->place = sessions ? AT_SESSIONS : fixtures ? AT_FIXTURES : AT_PROMPT;
    else if (start->place == AT_SESSIONS && start->sessions.cursor + 1 < sessions)
        start->sessions.cursor++;
    else if (start->place == AT_SESSIONS && stacked && fixtures)
        start->place = AT_FIXTURES;
    else if (start->place == AT_FIXTURES && start->fixtures.cursor + 1 < fixtures)
        start->fixtures.cursor++;
}

static void move_up(struct start *start, bool stacked)
{
    if (start->place == AT_FIXTURES && start->fixtures.cursor)
        start->fixtures.cursor--;
    else if (start->place == AT_FIXTURES)
        start->place = stacked && start->list.sessions ? AT_SESSIONS : AT_PROMPT;
    else if (start->place == AT_SESSIONS && start->sessions.cursor)
        start->sessions.cursor--;
    else
        start->place = AT_PROMPT;
}

static void go_round(struct start *start, int step)
{
    for (int i = 0; i < 3; i++) {
        start->place = (enum start_place)(((int)start->place + step + 3) % 3);
        if (start->place == AT_PROMPT || (start->place == AT_SESSIONS ? start->list.sessions : fixture_count(start)))
            return;
    }
}

static bool move(struct start *start, const struct key *key)
{
    bool stacked = start->dialog.width < SIDE_BY_SIDE;
    bool lines = strchr(start->prompt.text.buf, '\n') != NULL && start->place == AT_PROMPT;
    switch (key->code) {
    case KEYSYM_DOWN:
        if (lines)
            return false;
        move_down(start, stacked);
        return true;
    case KEYSYM_UP:
        if (lines)
            return false;
        move_up(start, stacked);
        return true;
    case KEYSYM_TAB:
        go_round(start, 1);
        return true;
    case KEYSYM_BACKTAB:
        go_round(start, -1);
        return true;
    case KEYSYM_LEFT:
        if (start->place == AT_FIXTURES && start->list.sessions)
            start->place = AT_SESSIONS;
        return start->place != AT_PROMPT;
    case KEYSYM_RIGHT:
        if (start->place == AT_SESSIONS && fixture_count(start))
            start->place = AT_FIXTURES;
        return start->place != AT_PROMPT;
    default:
        return false;
    }
}

static bool start_key(struct dialog *dialog, const struct key *key, enum action action)
{
    struct start *start = (struct start *)dialog;
    struct ui *ui = dialog->ui;
    if (action == ACTION_SUSPEND || action == ACTION_REDRAW)
        return false;
    if (action == ACTION_CANCEL || (key->ctrl && key->code == 'd' && !start->prompt.text.len)) {
        ui_get_host(ui)->quit(ui_get_host(ui));
        return true;
    }
    if (move(start, key))
        return true;
    /* Without a model no prompt can be sent, so m is a key and not the first letter of a prompt. */
    if (key->code == 'm' && !key->ctrl && !key->alt &&
        (start->place != AT_PROMPT || (!start->model && !start->prompt.text.len))) {
        ui_open_dialog(ui, dialog_model_setup_new(start->config, start->model));
        return true;
    }
    bool typed = key->code >= ' ' && key->code < KEYSYM_BASE && !key->ctrl && !key->alt;
    if (start->place != AT_PROMPT && (action == ACTION_HELP || action == ACTION_QUIT || action == ACTION_THEME)) {
        if (action == ACTION_QUIT)
            ui_get_host(ui)->quit(ui_get_host(ui));
        return action == ACTION_QUIT;
    }
    if (typed)
        start->place = AT_PROMPT;
    switch (input_key(&start->prompt, key)) {
    case INPUT_DONE:
        choose(start, ui);
        break;
    case INPUT_CLOSED:
        if (start->place != AT_PROMPT)
            start->place = AT_PROMPT;
        else if (start->prompt.text.len)
            input_set(&start->prompt, "");
        else
            ui_message(ui, LOOK_TEXT, "Ctrl-C quits.");
        break;
    case INPUT_CHANGED:
    case INPUT_IGNORED:
        break;
    }
    return true;
}

static const char *start_footer(struct dialog *dialog)
{
    const struct start *start = (struct start *)dialog;
    if (start->place != AT_PROMPT)
        return "Enter open   Up/Down choose   Tab next   Esc prompt   m model   T theme   ? keys   q quit";
    if (!start->model && !start->prompt.text.len)
        return "m set up a model   Down choose   Tab lists   Ctrl-C quit";
    return "Enter send   Alt-Enter new line   Down choose   Tab lists   Ctrl-C quit";
}

static const struct dialog_ops start_ops = {.name = "start",
                                            .title = "keyturn",
                                            .size = sizeof(struct start),
                                            .release = start_release,
                                            .paint = start_paint,
                                            .key = start_key,
                                            .footer_of = start_footer};

struct dialog *start_new(const struct start_info *info)
{
    struct start *start = (struct start *)dialog_alloc(&start_ops);
    start->folder = xstrdup(info->folder ? info->folder : "");
    start->model = info->model ? xstrdup(info->model) : NULL;
    start->config = info->config ? xstrdup(info->config) : config_default_path();
    open_list_load(&start->list, info->fixtures, info->now_us);
    input_init(&start->prompt, true);
    if (info->prompt)
        input_set(&start->prompt, info->prompt);
    list_init(&start->sessions, false);
    list_init(&start->fixtures, false);
    return &start->dialog;
}
