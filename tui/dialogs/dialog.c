/* What all dialogs share: their placement, and the two common forms, a list to choose from and a text to read, answer
 * or type. A dialog of either form is one constant. */

#include "dialog.h"
#include "app/ui.h"
#include "base/mem.h"
#include "screen/text.h"
#include <string.h>

#define LIST_ROWS_MAX 20
#define BODY_ROWS_MIN 2
#define TEXT_COLS     76
#define TEXT_ROWS_MAX 10
#define FILTER_LABEL  "show: "

struct dialog *dialog_alloc(const struct dialog_ops *ops)
{
    struct dialog *dialog = xcalloc(1, ops->size);
    dialog->ops = ops;
    dialog->name = ops->name;
    dialog->title = ops->title ? ops->title : ops->name;
    dialog->footer = ops->footer || ops->through ? ops->footer : "Esc close";
    list_init(&dialog->list, false);
    return dialog;
}

struct rect dialog_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    dialog->view = view;
    return dialog->ops->place ? dialog->ops->place(dialog, rows, cols) : rect_make(0, 0, rows - 1, cols);
}

bool dialog_press(struct dialog *dialog, const struct view *view, const struct key *key, enum action action)
{
    dialog->view = view;
    return dialog->ops->key(dialog, key, action);
}

struct rect dialog_center(int rows, int cols, int want_rows, int want_cols)
{
    int height = want_rows < rows - 2 ? want_rows : rows - 2;
    int width = want_cols < cols - 4 ? want_cols : cols - 4;
    return rect_make(1 + (rows - 2 - height) / 2, (cols - width) / 2, height, width);
}

bool dialog_pressed(const struct key *key, uint32_t code)
{
    return key->code == code && !key->ctrl && !key->alt;
}

bool dialog_pages(struct dialog *dialog, const struct key *key, enum action action)
{
    bool pages = !key->code || key->code == KEYSYM_PGUP || key->code == KEYSYM_PGDN;
    return pages && list_scroll(&dialog->list, action_list_step(action), dialog->height);
}

/* True if an open line drops a key that it does not use. Characters are text there, whatever they mean elsewhere. */
static bool line_keeps(enum action action)
{
    return action != ACTION_CANCEL && action != ACTION_SUSPEND && action != ACTION_REDRAW;
}

/* ---- a list ---- */

struct list_dialog {
    struct dialog dialog;
    const struct dialog_list *form;
    struct input line; /* above the rows; its terms are those of a filter (filter.h), all of them texts */
    bool typing;
    struct filter filter;
    struct matches matches; /* the matching rows */
};

static void list_dialog_release(struct dialog *dialog)
{
    struct list_dialog *shown = (struct list_dialog *)dialog;
    if (shown->form->release)
        shown->form->release(dialog->own);
    free(dialog->own);
    input_release(&shown->line);
    filter_release(&shown->filter);
    matches_release(&shown->matches);
}

const char *dialog_list_typed(const struct dialog *dialog)
{
    return ((const struct list_dialog *)dialog)->line.text.buf;
}

static bool row_fits(size_t row, void *data)
{
    const struct list_dialog *shown = data;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (!shown->filter.count || !shown->form->words)
        return true;
    shown->form->words(&shown->dialog, row, &words);
    return filter_text_fits(&shown->filter, words.buf, words.len);
}

/* Finds the matching rows: all of them if nothing was typed. */
static size_t find_rows(struct list_dialog *shown)
{
    size_t total = shown->form->count(&shown->dialog);
    matches_reset(&shown->matches);
    matches_work(&shown->matches, total, total, row_fits, shown);
    return shown->matches.count;
}

/* The row at the cursor; SIZE_MAX if there is none. */
static size_t chosen_row(const struct list_dialog *shown)
{
    size_t at = shown->dialog.list.cursor;
    return at < shown->matches.count ? shown->matches.rows[at] : SIZE_MAX;
}

/* Adds the text for an empty list; {name} becomes the key of that action. */
static void add_empty(struct strbuf *out, const struct list_dialog *shown)
{
    const struct dialog_list *form = shown->form;
    const char *text = form->empty_of ? form->empty_of(shown->dialog.view) : form->empty;
    for (const char *brace; (brace = strchr(text, '{')); text = strchr(brace, '}') + 1) {
        CLEANUP(free) char *name = xmemdup0(brace + 1, strcspn(brace + 1, "}"));
        strbuf_add(out, text, (size_t)(brace - text));
        strbuf_addstr(out, keymap_key(ui_keymap(shown->dialog.ui), action_from_name(name)));
    }
    strbuf_addstr(out, text);
}

/* Number of rows below the list, with a blank row above them. */
static int rows_below(const struct dialog_list *form, const struct canvas *canvas, int cols)
{
    int rows = form->hint ? paragraph_rows(canvas, form->hint, cols) : form->below;
    return rows ? rows + 1 : 0;
}

/* One row is for the input line, one stays blank. */
static struct rect list_dialog_place(struct dialog *dialog, int rows, int cols)
{
    const struct list_dialog *shown = (struct list_dialog *)dialog;
    const struct dialog_list *form = shown->form;
    const struct canvas canvas = {.ascii = !text_utf8()};
    size_t count = form->count(dialog), most = form->rows_most ? (size_t)form->rows_most : LIST_ROWS_MAX;
    int width = form->cols < cols - 4 ? form->cols : cols - 4, list = (int)(count < most ? count : most);
    if (form->rows)
        return dialog_center(rows, cols, form->rows, width);
    if (!count) {
        CLEANUP(strbuf) struct strbuf empty = STRBUF_INIT;
        add_empty(&empty, shown);
        list = paragraph_rows(&canvas, empty.buf, width - 4);
    }
    int below = rows_below(form, &canvas, width - 4);
    return dialog_center(rows, cols, list + (form->ask ? 5 : 4) + (below ? below - 1 : 0), width);
}

/* Paints the line above the rows, if there is one. Returns the number of rows it uses. */
static int paint_line(const struct list_dialog *shown, struct canvas *canvas, struct rect inside)
{
    struct rect line = rect_make(inside.row, inside.col + 1, 1, inside.cols - 2);
    const struct strbuf *text = &shown->line.text;
    if (shown->typing || shown->form->ask) {
        input_paint(&shown->line, canvas, line, shown->form->ask ? shown->form->ask : FILTER_LABEL);
        return shown->form->ask ? 2 : 1;
    }
    if (!text->len)
        return 0;
    int col = canvas_str(canvas, line, 0, 0, LOOK_INPUT, FILTER_LABEL);
    canvas_cut(canvas, line, 0, col, LOOK_INPUT, text->buf, text->len);
    return 1;
}

static void paint_nothing(const struct list_dialog *shown, struct canvas *canvas, struct rect body)
{
    const struct dialog_list *form = shown->form;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    bool empty = !form->count(&shown->dialog);
    if (empty)
        add_empty(&words, shown);
    else
        strbuf_addstr(&words,
                      form->ask ? "No match. Enter opens it as a file." : "No match. Backspace deletes letters.");
    paragraph_paint(canvas, rect_make(body.row, body.col, body.rows, body.cols - 1), 0, 1,
                    empty && form->empty_look ? form->empty_look : LOOK_DIM, words.buf);
}

static void list_dialog_paint(struct dialog *dialog, struct canvas *canvas, struct rect inside)
{
    struct list_dialog *shown = (struct list_dialog *)dialog;
    const struct dialog_list *form = shown->form;
    int line = paint_line(shown, canvas, inside);
    int below = rows_below(form, canvas, inside.cols - 2);
    int above = inside.rows - below > BODY_ROWS_MIN ? inside.rows - below : BODY_ROWS_MIN;
    struct rect body = rect_make(inside.row + line, inside.col, above - line, inside.cols);
    if (form->prepare)
        form->prepare(dialog, &shown->filter, canvas, body.cols);
    size_t count = find_rows(shown);
    dialog->height = body.rows;
    list_update(&dialog->list, count, body.rows);
    if (!count)
        paint_nothing(shown, canvas, body);
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < count; i++) {
        struct rect at = rect_make(body.row + i, body.col, 1, body.cols);
        form->paint(dialog, shown->matches.rows[dialog->list.top + (size_t)i], canvas, at);
        if (dialog->list.top + (size_t)i == dialog->list.cursor)
            canvas_tint(canvas, at, LOOK_SELECT);
    }
    if (form->says_more && dialog->list.top + (size_t)body.rows < count)
        canvas_right(canvas, body, body.rows - 1, 1, LOOK_DIM, canvas_sign(canvas, SIGN_DOWN));
    struct rect rest = rect_make(inside.row + above, inside.col, inside.rows - above, inside.cols - 1);
    if (form->hint)
        paragraph_paint(canvas, rest, 1, 1, LOOK_DIM, form->hint);
    else if (form->paint_below && chosen_row(shown) != SIZE_MAX)
        form->paint_below(dialog, chosen_row(shown), canvas, rest);
}

static bool key_of_row(struct list_dialog *shown, const struct key *key, enum action action)
{
    find_rows(shown);
    return shown->form->key && shown->form->key(&shown->dialog, chosen_row(shown), key, action);
}

/* Handles a key while the line is open. */
static bool list_dialog_type(struct list_dialog *shown, const struct key *key, enum action action)
{
    struct list *list = &shown->dialog.list;
    bool asks = shown->form->ask != NULL;
    /* Characters are text; only other keys move the cursor. */
    if (asks && (key->code >= KEYSYM_BASE || key->ctrl || key->code == 0) &&
        list_move(list, action_list_step(action), shown->dialog.height))
        return true;
    switch (input_key(&shown->line, key)) {
    case INPUT_IGNORED:
        return (!asks && list_move(list, action_list_step(action), shown->dialog.height)) || line_keeps(action);
    case INPUT_DONE:
        shown->typing = false;
        if (asks)
            key_of_row(shown, key, action);
        return true;
    case INPUT_CLOSED:
        if (asks) {
            ui_close_dialog(shown->dialog.ui);
            return true;
        }
        input_set(&shown->line, "");
        shown->typing = false;
        break;
    case INPUT_CHANGED:
        break;
    }
    if (asks)
        filter_set_text(&shown->filter, shown->line.text.buf);
    else
        filter_parse_texts(&shown->filter, shown->line.text.buf);
    list->cursor = list->top = 0;
    return true;
}

static bool list_dialog_key(struct dialog *dialog, const struct key *key, enum action action)
{
    struct list_dialog *shown = (struct list_dialog *)dialog;
    if (shown->typing || shown->form->ask)
        return list_dialog_type(shown, key, action);
    if (action == ACTION_SEARCH || action == ACTION_FILTER)
        return shown->typing = true;
    return key_of_row(shown, key, action) || list_move(&dialog->list, action_list_step(action), dialog->height);
}

static const char *list_dialog_footer(struct dialog *dialog)
{
    const struct list_dialog *shown = (struct list_dialog *)dialog;
    const struct dialog_list *form = shown->form;
    if (shown->typing)
        return "Enter apply   Esc show all";
    return form->count(dialog) || !form->empty_footer ? form->footer : form->empty_footer;
}

static const struct dialog_ops list_dialog_ops = {.size = sizeof(struct list_dialog),
                                                  .release = list_dialog_release,
                                                  .place = list_dialog_place,
                                                  .paint = list_dialog_paint,
                                                  .key = list_dialog_key,
                                                  .footer_of = list_dialog_footer};

struct dialog *dialog_list_new(const struct dialog_list *form)
{
    struct list_dialog *shown = (struct list_dialog *)dialog_alloc(&list_dialog_ops);
    shown->form = form;
    shown->dialog.name = form->name;
    shown->dialog.title = form->title;
    shown->dialog.own = form->size ? xcalloc(1, form->size) : NULL;
    input_init(&shown->line, false);
    filter_init(&shown->filter);
    return &shown->dialog;
}

/* ---- a text ---- */

struct text_dialog {
    struct dialog dialog;
    const struct dialog_text *form;
    struct input input;
    void *user;
    int said, typed; /* rows of the text, and of the input line, when last painted */
};

static void text_dialog_release(struct dialog *dialog)
{
    struct text_dialog *text = (struct text_dialog *)dialog;
    if (text->form->release)
        text->form->release(dialog->own);
    free(dialog->own);
    input_release(&text->input);
}

static int paint_said(struct text_dialog *text, struct canvas *canvas, struct rect in)
{
    return text->form->paint ? text->form->paint(&text->dialog, canvas, in)
                             : paragraph_paint(canvas, rect_make(in.row, in.col, in.rows, in.cols - 1), 0, 1, LOOK_DIM,
                                               text->form->label);
}

static struct rect text_dialog_place(struct dialog *dialog, int rows, int cols)
{
    struct text_dialog *text = (struct text_dialog *)dialog;
    int width = dialog->cols < cols - 4 ? dialog->cols : cols - 4, typed = 0;
    if (text->form->whole)
        return rect_make(0, 0, rows - 1, cols);
    if (text->form->done) {
        int least = text->form->multiline ? 3 : 1;
        typed = text->typed < least ? least : text->typed > TEXT_ROWS_MAX ? TEXT_ROWS_MAX : text->typed;
    }
    text->said = paint_said(text, &(struct canvas){.ascii = !text_utf8()}, rect_make(0, 0, rows, width - 2));
    return dialog_center(rows, cols, text->said + typed + 2, width);
}

static void text_dialog_paint(struct dialog *dialog, struct canvas *canvas, struct rect inside)
{
    struct text_dialog *text = (struct text_dialog *)dialog;
    bool types = text->form->done != NULL;
    list_set_lines(&dialog->list, (size_t)text->said, inside.rows);
    int used = paint_said(text, canvas, rect_make(inside.row, inside.col, inside.rows - types, inside.cols));
    if (!types)
        return;
    struct rect line = rect_make(inside.row + used, inside.col + 1, inside.rows - used, inside.cols - 2);
    canvas_fill(canvas, line, LOOK_INPUT);
    text->typed = input_paint(&text->input, canvas, line, "");
}

/* Passes the typed text to the form. The form may open another dialog, so this one is closed first. */
static void text_dialog_done(const struct text_dialog *text)
{
    CLEANUP(free) char *typed = xstrdup(text->input.text.buf);
    struct ui *ui = text->dialog.ui;
    const struct dialog_text *form = text->form;
    void *user = text->user;
    ui_close_dialog(ui);
    form->done(ui, typed, user);
}

static bool text_dialog_key(struct dialog *dialog, const struct key *key, enum action action)
{
    struct text_dialog *text = (struct text_dialog *)dialog;
    const struct dialog_text *form = text->form;
    enum input_result typed = form->done ? input_key(&text->input, key) : INPUT_IGNORED;
    if (typed == INPUT_DONE)
        text_dialog_done(text);
    else if (typed == INPUT_CLOSED || (action != ACTION_NONE && action == form->closes))
        ui_close_dialog(dialog->ui);
    else if (form->done)
        return typed == INPUT_CHANGED || line_keeps(action);
    else
        return (form->key && form->key(dialog, key, action)) ||
               list_scroll(&dialog->list, action_list_step(action), dialog->height);
    return true;
}

static const struct dialog_ops text_dialog_ops = {.name = "text",
                                                  .size = sizeof(struct text_dialog),
                                                  .release = text_dialog_release,
                                                  .place = text_dialog_place,
                                                  .paint = text_dialog_paint,
                                                  .key = text_dialog_key};

struct dialog *dialog_text_new(const struct dialog_text *form, const char *initial, void *user)
{
    struct text_dialog *text = (struct text_dialog *)dialog_alloc(&text_dialog_ops);
    struct dialog *dialog = &text->dialog;
    text->form = form;
    text->user = user;
    dialog->name = form->name ? form->name : dialog->name;
    dialog->title = form->title;
    dialog->cols = form->cols ? form->cols : TEXT_COLS;
    dialog->own = form->size ? xcalloc(1, form->size) : NULL;
    if (form->footer)
        dialog->footer = form->footer;
    else if (form->done)
        dialog->footer = form->multiline ? "Enter done   Alt-Enter new line   Esc close" : "Enter done   Esc close";
    input_init(&text->input, form->multiline);
    input_set(&text->input, initial);
    return dialog;
}
