/* The dialogs that list something: breakpoints, permissions, models, and the sessions that can be opened. */

#include "base/mem.h"
#include "dialog.h"
#include "flow.h"
#include "start_row.h"
#include "ui.h"
#include <string.h>

/* ---- breakpoints: what holds the turn, and what is passed for now ---- */

#define BREAK_SYNTAX "tool=NAME effect=CLASS path=GLOB outcome=TYPE budget=N% gate=NAME"
#define BREAK_COL    9 /* behind the box and the number */

static size_t break_count(const struct view *view)
{
    return view->gates ? view->gates->count : 0;
}

static void break_words(const struct view *view, size_t row, struct strbuf *out)
{
    strbuf_addstr(out, view->gates->breaks[row].text);
}

static void break_paint(const struct view *view, size_t row, struct canvas *canvas, struct rect at)
{
    const struct breakpoint *point = &view->gates->breaks[row];
    enum look look = point->enabled ? LOOK_TEXT : LOOK_DIM;
    bool nothing = view_breaks_on_nothing(view, point->text);
    const char *note = nothing           ? "! no tool of that name"
                       : !point->enabled ? "passed for now"
                       : point->hit      ? "held once this turn"
                                         : "";
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    flow_path(&text, canvas, point->text, at.cols - BREAK_COL - 1 - (*note ? (int)strlen(note) + 2 : 0));
    canvas_printf(canvas, at, 0, 1, look, "%s %2d  ", point->enabled ? "[x]" : "[ ]", point->id);
    canvas_str(canvas, at, 0, BREAK_COL, look, text.buf);
    canvas_right(canvas, at, 0, 1, nothing ? LOOK_WARN : LOOK_DIM, note);
}

static void add_break(struct ui *ui, const char *text, void *user);

static const struct dialog_text new_break = {.title = "new breakpoint", .label = BREAK_SYNTAX, .done = add_break};

/* One that is refused can be corrected: what was typed is still there. */
static void add_break(struct ui *ui, const char *text, void *user)
{
    if (*text && !ui_submit(ui, &(struct intent){.type = INTENT_BREAK, .breakpoint = {text}}))
        ui_open_dialog(ui, dialog_text_new(&new_break, text, user));
}

static bool break_key(struct ui *ui, const struct view *view, size_t row, const struct key *key)
{
    const struct breakpoint *point = row != SIZE_MAX ? &view->gates->breaks[row] : NULL;
    if (dialog_pressed(key, 'a'))
        ui_open_dialog(ui, dialog_text_new(&new_break, "", NULL));
    else if (point && (dialog_pressed(key, ' ') || dialog_pressed(key, KEYSYM_ENTER)))
        ui_submit(ui, &(struct intent){.type = INTENT_ARM, .arm = {point->id, !point->enabled}});
    else if (point && (dialog_pressed(key, 'd') || dialog_pressed(key, KEYSYM_DELETE)))
        ui_submit(ui, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {point->id}});
    else
        return false;
    return true;
}

const struct dialog_list dialog_breaks = {
    .name = "breaks",
    .title = "breakpoints",
    .footer = "a add   Space hold/pass   d delete   / search   Esc close",
    .empty_footer = "a add   Esc close",
    .empty = "No breakpoints. a adds one; {break} on a call or an event sets one there.",
    .hint = BREAK_SYNTAX,
    .cols = 72,
    .count = break_count,
    .words = break_words,
    .paint = break_paint,
    .key = break_key,
};

/* ---- lines of the view: "NAME", a blank, the rest ---- */

struct view_line {
    const char *text, *rest; /* the latter behind the blank; NULL: there is none */
    size_t len, name_len, rest_len;
};

/* Line `row`; its `text` is NULL where there are fewer. */
static struct view_line line_at(const char *text, size_t row)
{
    for (size_t i = 0; text && *text; i++) {
        size_t len = strcspn(text, "\n");
        const char *blank = memchr(text, ' ', len);
        size_t name = blank ? (size_t)(blank - text) : len;
        if (i == row)
            return (struct view_line){text, blank ? blank + 1 : NULL, len, name, blank ? len - name - 1 : 0};
        text += len + (text[len] == '\n');
    }
    return (struct view_line){0};
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    while (line_at(text, count).text)
        count++;
    return count;
}

/* ---- permissions: a tool and a path allowed with A; a tool alone: its calls without a diff ---- */

static size_t permission_count(const struct view *view)
{
    return count_lines(view->allowed);
}

static void permission_words(const struct view *view, size_t row, struct strbuf *out)
{
    struct view_line line = line_at(view->allowed, row);
    strbuf_add(out, line.text, line.len);
}

static void permission_paint(const struct view *view, size_t row, struct canvas *canvas, struct rect at)
{
    struct view_line line = line_at(view->allowed, row);
    int end = 1 + canvas_cut(canvas, at, 0, 1, LOOK_TEXT, line.text, line.len);
    if (!line.rest)
        canvas_str(canvas, at, 0, end + 1, LOOK_DIM, "every call that has no diff");
}

static bool permission_key(struct ui *ui, const struct view *view, size_t row, const struct key *key)
{
    if (row == SIZE_MAX || (!dialog_pressed(key, 'd') && !dialog_pressed(key, KEYSYM_DELETE)))
        return false;
    struct view_line line = line_at(view->allowed, row);
    CLEANUP(free) char *tool = xmemdup0(line.text, line.name_len);
    CLEANUP(free) char *path = line.rest ? xmemdup0(line.rest, line.rest_len) : NULL;
    if (ui_submit(ui, &(struct intent){.type = INTENT_ALLOW, .allow = {tool, path, true}}))
        ui_say(ui, LOOK_TEXT, "%s%s%s asks again.", tool, path ? " on " : "", path ? path : "");
    return true;
}

const struct dialog_list dialog_permissions = {
    .name = "permissions",
    .title = "allowed for this session",
    .footer = "d take back   / search   Esc close",
    .empty = "Nothing is allowed: every write asks. {allow} at a question allows its path.",
    .cols = 76,
    .count = permission_count,
    .words = permission_words,
    .paint = permission_paint,
    .key = permission_key,
};

/* ---- models of the config file: the name, and what its provider calls it ---- */

static size_t model_count(const struct view *view)
{
    return count_lines(view->models);
}

static void model_words(const struct view *view, size_t row, struct strbuf *out)
{
    struct view_line line = line_at(view->models, row);
    strbuf_add(out, line.text, line.len);
}

/* The one that is asked now. Two may be the same model with other settings: then both are marked. */
static bool is_asked(const struct view *view, const struct view_line *line)
{
    const struct session *session = view->session;
    CLEANUP(free)
    char *now = xasprintf("%s/%s", session_name(session, session->provider), session_name(session, session->model));
    return line->rest && strlen(now) == line->rest_len && strncmp(line->rest, now, line->rest_len) == 0;
}

static void model_paint(const struct view *view, size_t row, struct canvas *canvas, struct rect at)
{
    struct view_line line = line_at(view->models, row);
    int column = 24 < at.cols / 3 ? 24 : at.cols / 3;
    canvas_cut(canvas, rect_make(at.row, at.col, 1, column), 0, 1, LOOK_STRONG, line.text, line.name_len);
    if (line.rest)
        canvas_cut(canvas, at, 0, column + 1, LOOK_TEXT, line.rest, line.rest_len);
    if (is_asked(view, &line))
        canvas_right(canvas, at, 0, 1, LOOK_GOOD, "asked now");
}

static const char *model_empty(const struct view *view)
{
    return view->models ? "There are no others." : "The model of this session cannot be changed.";
}

static bool model_key(struct ui *ui, const struct view *view, size_t row, const struct key *key)
{
    if (row == SIZE_MAX || key->code != KEYSYM_ENTER)
        return false;
    struct view_line line = line_at(view->models, row);
    CLEANUP(free) char *name = xmemdup0(line.text, line.name_len);
    ui_close_dialog(ui);
    if (ui_submit(ui, &(struct intent){.type = INTENT_MODEL, .model = {name}}))
        ui_say(ui, LOOK_TEXT, "Next request goes to %s.", name);
    return true;
}

const struct dialog_list dialog_models = {
    .name = "models",
    .title = "models",
    .footer = "Enter ask this one   / search   Esc close",
    .empty_of = model_empty,
    .cols = 76,
    .count = model_count,
    .words = model_words,
    .paint = model_paint,
    .key = model_key,
};

/* ---- sessions and fixtures: letters are a filter from the start, or the name of a file that is not listed ---- */

#define SESSION_ROWS_MAX 30
#define SESSION_COLS     110
#define SESSION_COL      10 /* behind what Enter does */

struct sessions_dialog {
    struct dialog dialog;
    struct start_list list;
    size_t *shown; /* indexes of the items that have what was typed */
    size_t shown_count;
    struct input line;
};

static void filter_sessions(struct sessions_dialog *sessions)
{
    sessions->shown_count = 0;
    for (size_t i = 0; i < sessions->list.count; i++)
        if (start_item_has(&sessions->list.items[i], sessions->line.text.buf))
            sessions->shown[sessions->shown_count++] = i;
    sessions->dialog.list.cursor = sessions->dialog.list.top = 0;
}

static void sessions_release(struct dialog *dialog)
{
    struct sessions_dialog *sessions = (struct sessions_dialog *)dialog;
    start_list_release(&sessions->list);
    free(sessions->shown);
    input_release(&sessions->line);
}

static struct rect sessions_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    size_t count = ((struct sessions_dialog *)dialog)->list.count;
    (void)view;
    return dialog_center(rows, cols, (int)(count < SESSION_ROWS_MAX ? count : SESSION_ROWS_MAX) + 5, SESSION_COLS);
}

static void sessions_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                           struct rect inside)
{
    struct sessions_dialog *sessions = (struct sessions_dialog *)dialog;
    struct rect body = rect_make(inside.row + 2, inside.col, inside.rows - 2, inside.cols);
    struct rect text = rect_make(body.row, body.col + SESSION_COL, body.rows, body.cols - SESSION_COL - 1);
    struct start_columns columns = start_columns_of(canvas, sessions->list.items, sessions->list.count, text.cols);
    (void)ui, (void)view;
    input_paint(&sessions->line, canvas, rect_make(inside.row, inside.col + 1, 1, inside.cols - 2), "open: ");
    dialog->height = body.rows;
    list_update(&dialog->list, sessions->shown_count, body.rows);
    if (!sessions->shown_count)
        canvas_str(canvas, body, 0, 1, LOOK_DIM,
                   sessions->list.count ? "Nothing has that in it. Enter opens it as a file."
                                        : "No sessions yet, and no fixtures were found. Type the name of a recording.");
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < sessions->shown_count; i++) {
        const struct start_item *item = &sessions->list.items[sessions->shown[dialog->list.top + (size_t)i]];
        canvas_str(canvas, body, i, 1, LOOK_DIM, item->fixture ? "look at" : item->running ? "watch" : "go on");
        start_row_paint(canvas, text, i, &columns, item);
        dialog_select_row(canvas, body, dialog, dialog->list.top + (size_t)i);
    }
}

static void open_chosen(const struct sessions_dialog *sessions, struct ui *ui)
{
    size_t at = sessions->dialog.list.cursor;
    CLEANUP(free)
    char *what =
        xstrdup(at < sessions->shown_count ? sessions->list.items[sessions->shown[at]].path : sessions->line.text.buf);
    if (!*what)
        return;
    ui_close_dialog(ui);
    ui_open(ui, what);
}

static bool sessions_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                         enum action action)
{
    struct sessions_dialog *sessions = (struct sessions_dialog *)dialog;
    (void)view;
    /* Letters are text here; only keys that are no characters move. */
    if ((key->code >= KEYSYM_BASE || key->ctrl || key->code == 0) && list_action(&dialog->list, action, dialog->height))
        return true;
    switch (input_key(&sessions->line, key)) {
    case INPUT_CHANGED:
        filter_sessions(sessions);
        return true;
    case INPUT_DONE:
        open_chosen(sessions, ui);
        return true;
    case INPUT_CLOSED:
        ui_close_dialog(ui);
        return true;
    case INPUT_IGNORED:
        break;
    }
    return action != ACTION_CANCEL && action != ACTION_SUSPEND && action != ACTION_REDRAW;
}

static const struct dialog_ops sessions_ops = {
    .name = "sessions",
    .footer = "Enter open   Up/Down choose   letters narrow it down   Esc close",
    .size = sizeof(struct sessions_dialog),
    .release = sessions_release,
    .place = sessions_place,
    .paint = sessions_paint,
    .key = sessions_key,
};

struct dialog *dialog_sessions_new(void)
{
    struct sessions_dialog *sessions = (struct sessions_dialog *)dialog_alloc(&sessions_ops);
    start_list_load(&sessions->list, NULL);
    sessions->shown = xcalloc(sessions->list.count + 1, sizeof(*sessions->shown));
    input_init(&sessions->line, false);
    filter_sessions(sessions);
    return &sessions->dialog;
}
