/* The dialogs that list something: breakpoints, permissions, models, divergences from a recording, all keys, and the
 * sessions that can be opened. */

#include "app/open_list.h"
#include "app/ui.h"
#include "base/mem.h"
#include "dialog.h"
#include "screen/text.h"
#include "turn/divergence.h"
#include <string.h>

/* ---- breakpoints, enabled and disabled ---- */

#define BREAK_SYNTAX "tool=NAME effect=CLASS path=GLOB outcome=TYPE budget=N% gate=NAME"
#define BREAK_COL    9 /* after the checkbox and the number */

static size_t break_count(const struct dialog *dialog)
{
    return dialog->view->gates ? dialog->view->gates->count : 0;
}

static void break_words(const struct dialog *dialog, size_t row, struct strbuf *out)
{
    strbuf_addstr(out, dialog->view->gates->breaks[row].text);
}

static void break_paint(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect at)
{
    const struct breakpoint *point = &dialog->view->gates->breaks[row];
    enum look look = point->enabled ? LOOK_TEXT : LOOK_DIM;
    bool nothing = view_breaks_on_nothing(dialog->view, point->text);
    const char *note = nothing           ? "! no tool of that name"
                       : !point->enabled ? "disabled"
                       : point->hit      ? "paused once this turn"
                                         : "";
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    paragraph_path(&text, canvas, point->text, at.cols - BREAK_COL - 1 - (*note ? (int)strlen(note) + 2 : 0));
    canvas_printf(canvas, at, 0, 1, look, "%s %2d  ", point->enabled ? "[x]" : "[ ]", point->id);
    canvas_str(canvas, at, 0, BREAK_COL, look, text.buf);
    canvas_right(canvas, at, 0, 1, nothing ? LOOK_WARN : LOOK_DIM, note);
}

static void add_break(struct ui *ui, const char *text, void *user);

static const struct dialog_text new_break = {.title = "new breakpoint", .label = BREAK_SYNTAX, .done = add_break};

/* If the breakpoint is refused, the text stays, so that the user can correct it. */
static void add_break(struct ui *ui, const char *text, void *user)
{
    if (*text && !ui_submit(ui, &(struct intent){.type = INTENT_BREAK, .breakpoint = {text}}))
        ui_open_dialog(ui, dialog_text_new(&new_break, text, user));
}

static bool break_key(struct dialog *dialog, size_t row, const struct key *key, enum action action)
{
    struct ui *ui = dialog->ui;
    (void)action;
    const struct breakpoint *point = row != SIZE_MAX ? &dialog->view->gates->breaks[row] : NULL;
    if (dialog_pressed(key, 'a'))
        ui_open_dialog(ui, dialog_text_new(&new_break, "", NULL));
    else if (point && (dialog_pressed(key, ' ') || dialog_pressed(key, KEYSYM_ENTER)))
        ui_submit(ui, &(struct intent){.type = INTENT_ENABLE_BREAK, .arm = {point->id, !point->enabled}});
    else if (point && (dialog_pressed(key, 'd') || dialog_pressed(key, KEYSYM_DELETE)))
        ui_submit(ui, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {point->id}});
    else
        return false;
    return true;
}

const struct dialog_list dialog_breaks = {
    .name = "breaks",
    .title = "breakpoints",
    .footer = "a add   Space toggle   d delete   / search   Esc close",
    .empty_footer = "a add   Esc close",
    .empty = "No breakpoints. a adds one; {break} toggles one on a call or event.",
    .hint = BREAK_SYNTAX,
    .cols = 72,
    .count = break_count,
    .words = break_words,
    .paint = break_paint,
    .key = break_key,
};

/* ---- permissions: a tool and a path that the user allowed with A; a tool alone means its calls without a diff ---- */

static size_t permission_count(const struct dialog *dialog)
{
    return dialog->view->rules ? rules_count(dialog->view->rules) : 0;
}

static void permission_words(const struct dialog *dialog, size_t row, struct strbuf *out)
{
    const struct rule *rule = rules_at(dialog->view->rules, row);
    strbuf_addf(out, "%s%s%s", rule->tool, rule->path ? " " : "", rule->path ? rule->path : "");
}

static void permission_paint(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect at)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    permission_words(dialog, row, &words);
    int end = 1 + canvas_cut(canvas, at, 0, 1, LOOK_TEXT, words.buf, words.len);
    if (!rules_at(dialog->view->rules, row)->path)
        canvas_str(canvas, at, 0, end + 1, LOOK_DIM, "every call that has no diff");
}

static bool permission_key(struct dialog *dialog, size_t row, const struct key *key, enum action action)
{
    struct ui *ui = dialog->ui;
    (void)action;
    if (row == SIZE_MAX || (!dialog_pressed(key, 'd') && !dialog_pressed(key, KEYSYM_DELETE)))
        return false;
    const struct rule *rule = rules_at(dialog->view->rules, row);
    CLEANUP(free) char *tool = xstrdup(rule->tool); /* the intent removes the rule and its texts */
    CLEANUP(free) char *path = rule->path ? xstrdup(rule->path) : NULL;
    if (ui_submit(ui, &(struct intent){.type = INTENT_ALLOW, .allow = {tool, path, true}}))
        ui_message(ui, LOOK_TEXT, "%s%s%s needs approval again.", tool, path ? " on " : "", path ? path : "");
    return true;
}

const struct dialog_list dialog_permissions = {
    .name = "permissions",
    .title = "allowed for this session",
    .footer = "d revoke   / search   Esc close",
    .empty_footer = "Esc close",
    .empty = "Nothing is allowed. {allow} on a write allows its path.",
    .cols = 76,
    .count = permission_count,
    .words = permission_words,
    .paint = permission_paint,
    .key = permission_key,
};

/* ---- models of the config file: the name, and the provider's name for it ---- */

static size_t model_count(const struct dialog *dialog)
{
    return dialog->view->model_count;
}

static void model_words(const struct dialog *dialog, size_t row, struct strbuf *out)
{
    const struct view_model *model = &dialog->view->models[row];
    strbuf_addf(out, "%s %s/%s", model->name, model->provider, model->model);
}

static void model_paint(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect at)
{
    const struct view_model *model = &dialog->view->models[row];
    const struct session *session = dialog->view->session;
    int column = 24 < at.cols / 3 ? 24 : at.cols / 3;
    CLEANUP(free) char *called = xasprintf("%s/%s", model->provider, model->model);
    canvas_cut(canvas, rect_make(at.row, at.col, 1, column), 0, 1, LOOK_STRONG, model->name, strlen(model->name));
    canvas_cut(canvas, at, 0, column + 1, LOOK_TEXT, called, strlen(called));
    /* Two entries may be the same model with other settings: then both are marked. */
    if (strcmp(model->provider, session_name(session, session->provider)) == 0 &&
        strcmp(model->model, session_name(session, session->model)) == 0)
        canvas_right(canvas, at, 0, 1, LOOK_GOOD, "current");
}

static const char *model_empty(const struct view *view)
{
    return view->models ? "No other models." : "The model of this session cannot be changed.";
}

static bool model_key(struct dialog *dialog, size_t row, const struct key *key, enum action action)
{
    struct ui *ui = dialog->ui;
    (void)action;
    if (row == SIZE_MAX || key->code != KEYSYM_ENTER)
        return false;
    const char *name = dialog->view->models[row].name;
    ui_close_dialog(ui);
    if (ui_submit(ui, &(struct intent){.type = INTENT_MODEL, .model = {name}}))
        ui_message(ui, LOOK_TEXT, "Next request goes to %s.", name);
    return true;
}

const struct dialog_list dialog_models = {
    .name = "models",
    .title = "models",
    .footer = "Enter switch   / search   Esc close",
    .empty_footer = "Esc close",
    .empty_of = model_empty,
    .cols = 76,
    .count = model_count,
    .words = model_words,
    .paint = model_paint,
    .key = model_key,
};

/* ---- divergences: the recorded value, and below it that of the run ---- */

#define SEQ_COLS  14
#define TYPE_COLS 17

static size_t divergence_count(const struct dialog *dialog)
{
    return dialog->view->divergences ? divergences_count(dialog->view->divergences) : 0;
}

/* What differs: a field of the event, or the whole event if only the run or only the recording has it. */
static const char *divergence_label(const struct divergence *divergence)
{
    return divergence->unrecorded ? "not in the recording"
           : divergence->got_seq  ? divergence->field
                                  : "missing from this run";
}

static void divergence_words(const struct dialog *dialog, size_t row, struct strbuf *out)
{
    const struct divergence *divergence = divergences_at(dialog->view->divergences, row);
    strbuf_addf(out, "%s %s %s %s %s", divergence->type, divergence_label(divergence),
                divergence->call ? divergence->call : "", divergence->recorded, divergence->got);
}

static void divergence_paint(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect at)
{
    const struct divergence *divergence = divergences_at(dialog->view->divergences, row);
    const char *what = divergence_label(divergence);
    int col = SEQ_COLS + TYPE_COLS;
    /* An event that was not recorded has no number in the recording, so show the number of the one before it. */
    canvas_printf(canvas, at, 0, 1, LOOK_DIM, "%5s %6lld", divergence->unrecorded ? "after" : "",
                  (long long)divergence->seq);
    canvas_cut(canvas, rect_make(at.row, at.col + SEQ_COLS, 1, TYPE_COLS - 1), 0, 0, LOOK_TEXT, divergence->type,
               strlen(divergence->type));
    if (divergence->call)
        col += canvas_text(canvas, at, 0, col, LOOK_DIM, divergence->call, strlen(divergence->call)) + 1;
    canvas_cut(canvas, at, 0, col, divergence->unrecorded || !divergence->got_seq ? LOOK_WARN : LOOK_STRONG, what,
               strlen(what));
}

static int paint_side(struct canvas *canvas, struct rect in, int row, enum look look, const char *label,
                      const char *text)
{
    CLEANUP(strbuf) struct strbuf wrapped = STRBUF_INIT;
    int rows = 0;
    canvas_str(canvas, in, row, 1, LOOK_DIM, label);
    text_wrap(&wrapped, text, strlen(text), 0, (size_t)(in.cols > 23 ? in.cols - 13 : 10));
    for (const char *line = wrapped.buf; *line && rows < 3; rows++) {
        size_t len = strcspn(line, "\n");
        canvas_text(canvas, in, row + rows, 12, look, line, len);
        line += len + (line[len] == '\n');
    }
    return rows;
}

static void divergence_paint_below(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect in)
{
    const struct divergence *divergence = divergences_at(dialog->view->divergences, row);
    if (in.rows < 2)
        return;
    int at = 1 + paint_side(canvas, in, 1, LOOK_DIFF_REMOVE, "- recorded", divergence->recorded);
    paint_side(canvas, in, at, LOOK_DIFF_ADD, "+ got", divergence->got);
}

static bool divergence_key(struct dialog *dialog, size_t row, const struct key *key, enum action action)
{
    (void)key;
    if (action != ACTION_INSPECT || row == SIZE_MAX)
        return false;
    struct selection what = {SELECT_EVENT, divergences_at(dialog->view->divergences, row)->got_seq, SESSION_NONE};
    if (what.seq)
        ui_open_dialog(dialog->ui, dialog_inspect_new(dialog->view, what));
    else
        ui_message(dialog->ui, LOOK_TEXT, "This event is missing from this run.");
    return true;
}

const struct dialog_list dialog_divergences = {
    .name = "divergences",
    .title = "divergences from the recording",
    .footer = "Up/Down choose   Enter show the event   / search   Esc close",
    .empty_footer = "Esc close",
    .empty = "No divergence so far.",
    .empty_look = LOOK_GOOD,
    .cols = 110,
    .rows_most = 24,
    .below = 6,
    .count = divergence_count,
    .words = divergence_words,
    .paint = divergence_paint,
    .paint_below = divergence_paint_below,
    .key = divergence_key,
};

/* ---- all keys, from the action table, those that are active now first ---- */

#define KEYS_COLUMNS 22
#define NARROW       70 /* columns of the dialog below which the key column is narrower */
#define KEYS_NARROW  16

static const struct {
    unsigned context;
    const char *title;
} sections[] = {
    {IN_PROGRAM, "While a program is shown"},
    {IN_QUESTION, "While a write waits"},
    {IN_REPLAY, "In a recording"},
    {IN_STEP, "While a turn runs"},
    {IN_ALL, "Everywhere"},
};

/* A row is an action, the next line of its help, a heading or a blank. */
struct help_row {
    enum action action; /* ACTION_NONE: the row has no keys */
    bool now;           /* active now */
    const char *title;  /* of a heading; NULL: not a heading */
    const char *text;   /* the part of the help in this row */
    size_t len;
};

struct help {
    unsigned contexts;
    struct help_row *rows;
    size_t count, room;
    int keys_columns, width;
};

static void help_release(void *own)
{
    free(((struct help *)own)->rows);
}

static void add_help_row(struct help *help, struct help_row row)
{
    GROW(help->rows, help->count, help->room);
    help->rows[help->count++] = row;
}

/* Adds the action and as many rows as its help needs. */
static void add_action(struct help *help, enum action action, bool now)
{
    const char *text = action_help(action);
    size_t room = (size_t)(help->width - help->keys_columns - 2);
    do {
        size_t len = strlen(text);
        if (len > room) {
            for (len = room; len && text[len] != ' '; len--)
                ;
            len = len ? len : room;
        }
        add_help_row(help, (struct help_row){.action = action, .now = now, .text = text, .len = len});
        action = ACTION_NONE;
        text += len + strspn(text + len, " ");
    } while (*text);
}

static void add_section(struct help *help, size_t section, const struct filter *typed, struct keymap *keymap)
{
    bool now = (sections[section].context & help->contexts) != 0;
    size_t first = help->count;
    for (enum action action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        if (action_contexts(action) != sections[section].context)
            continue;
        strbuf_addf(&words, "%s %s ", action_help(action), action_name(action));
        keymap_keys(keymap, action, &words);
        if (!filter_text_fits(typed, words.buf, words.len))
            continue;
        if (first == help->count) {
            if (help->count)
                add_help_row(help, (struct help_row){0});
            add_help_row(help, (struct help_row){.now = now, .title = sections[section].title});
        }
        add_action(help, action, now);
    }
}

static void help_prepare(struct dialog *dialog, const struct filter *typed, const struct canvas *canvas, int cols)
{
    struct help *help = dialog->own;
    (void)canvas;
    help->count = 0;
    help->width = cols;
    help->keys_columns = cols < NARROW ? KEYS_NARROW : KEYS_COLUMNS;
    for (int now = 1; now >= 0; now--)
        for (size_t i = 0; i < COUNT_OF(sections); i++)
            if (((sections[i].context & help->contexts) != 0) == now)
                add_section(help, i, typed, ui_keymap(dialog->ui));
}

static size_t help_count(const struct dialog *dialog)
{
    return ((struct help *)dialog->own)->count;
}

static void help_paint(const struct dialog *dialog, size_t index, struct canvas *canvas, struct rect at)
{
    const struct help *help = dialog->own;
    const struct help_row *row = &help->rows[index];
    CLEANUP(strbuf) struct strbuf keys = STRBUF_INIT;
    if (row->title) {
        int end = canvas_str(canvas, at, 0, 1, LOOK_MODAL_TITLE, row->title);
        if (!row->now)
            canvas_str(canvas, at, 0, end + 3, LOOK_DIM, "(not now)");
    }
    if (row->action != ACTION_NONE)
        keymap_keys(ui_keymap(dialog->ui), row->action, &keys);
    canvas_str(canvas, rect_make(at.row, at.col, 1, help->keys_columns), 0, 3, row->now ? LOOK_FOOTER_KEY : LOOK_DIM,
               keys.buf);
    canvas_text(canvas, at, 0, help->keys_columns + 1, row->now ? LOOK_TEXT : LOOK_DIM, row->text, row->len);
}

static const struct dialog_list help_form = {
    .name = "help",
    .title = "keys",
    .footer = "/ search   Up/Down scroll   Esc close",
    .empty = "No match. Backspace deletes letters.",
    .cols = 96,
    .rows = 60,
    .says_more = true,
    .size = sizeof(struct help),
    .release = help_release,
    .prepare = help_prepare,
    .count = help_count,
    .paint = help_paint,
};

struct dialog *dialog_help_new(unsigned contexts)
{
    struct dialog *dialog = dialog_list_new(&help_form);
    ((struct help *)dialog->own)->contexts = contexts;
    return dialog;
}

/* ---- sessions and fixtures: the typed text filters the list, or is the name of a file that is not in it ---- */

#define SESSION_COL 10 /* after the label of what Enter does */

struct sessions_own {
    struct open_list list;
    struct start_columns columns;
};

static void session_release_list(void *own)
{
    open_list_release(&((struct sessions_own *)own)->list);
}

static void session_prepare(struct dialog *dialog, const struct filter *typed, const struct canvas *canvas, int cols)
{
    struct sessions_own *own = dialog->own;
    (void)typed;
    own->columns = start_columns_of(canvas, own->list.items, own->list.count, cols - SESSION_COL - 1);
}

static size_t session_count(const struct dialog *dialog)
{
    return ((struct sessions_own *)dialog->own)->list.count;
}

/* The visible texts, one per line, so that a search never matches across two of them. */
static void session_words(const struct dialog *dialog, size_t row, struct strbuf *out)
{
    const struct open_item *item = &((struct sessions_own *)dialog->own)->list.items[row];
    strbuf_addf(out, "%s\n%s\n%s\n%s\n%s", item->name, item->title, item->folder, item->state, item->when);
}

static void session_paint(const struct dialog *dialog, size_t row, struct canvas *canvas, struct rect at)
{
    const struct sessions_own *own = dialog->own;
    const struct open_item *item = &own->list.items[row];
    canvas_str(canvas, at, 0, 1, LOOK_DIM, item->fixture ? "replay" : item->running ? "watch" : "resume");
    start_row_paint(canvas, rect_make(at.row, at.col + SESSION_COL, 1, at.cols - SESSION_COL - 1), 0, &own->columns,
                    item);
}

static bool session_key(struct dialog *dialog, size_t row, const struct key *key, enum action action)
{
    const struct open_list *list = &((struct sessions_own *)dialog->own)->list;
    struct ui *ui = dialog->ui;
    CLEANUP(free) char *what = xstrdup(row != SIZE_MAX ? list->items[row].path : dialog_list_typed(dialog));
    (void)key, (void)action;
    if (!*what)
        return false;
    ui_close_dialog(ui);
    ui_open(ui, what);
    return true;
}

static const struct dialog_list sessions_form = {
    .name = "sessions",
    .title = "sessions",
    .footer = "Enter open   Up/Down choose   letters filter   Esc close",
    .empty = "No sessions yet, no fixtures found. Type the name of a recording.",
    .ask = "open: ",
    .cols = 110,
    .rows_most = 30,
    .size = sizeof(struct sessions_own),
    .release = session_release_list,
    .prepare = session_prepare,
    .count = session_count,
    .words = session_words,
    .paint = session_paint,
    .key = session_key,
};

struct dialog *dialog_sessions_new(const char *find)
{
    struct dialog *dialog = dialog_list_new(&sessions_form);
    struct open_list *list = &((struct sessions_own *)dialog->own)->list;
    if (find)
        open_list_find(list, find);
    else
        open_list_load(list, NULL, 0);
    return dialog;
}
