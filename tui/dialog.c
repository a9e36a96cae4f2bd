/* What dialogs share: their place, the filter of a list, and the forms of which a dialog is one constant: a list to
 * choose from, a text to type. Also the question before something that cannot be taken back, and a text to read. */

#include "dialog.h"
#include "base/mem.h"
#include "flow.h"
#include "pretty.h"
#include "text.h"
#include "ui.h"
#include <string.h>

#define LIST_ROWS_MAX     20
#define TEXT_COLS         76
#define TEXT_ROWS_MAX     10
#define CONFIRM_COLS      64
#define DOCUMENT_ROWS_MIN 6

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

struct rect dialog_center(int rows, int cols, int want_rows, int want_cols)
{
    int height = want_rows < rows - 2 ? want_rows : rows - 2;
    int width = want_cols < cols - 4 ? want_cols : cols - 4;
    return rect_make(1 + (rows - 2 - height) / 2, (cols - width) / 2, height, width);
}

void dialog_select_row(struct canvas *canvas, struct rect inside, const struct dialog *dialog, size_t row)
{
    if (row == dialog->list.cursor && row >= dialog->list.top && row - dialog->list.top < (size_t)inside.rows)
        canvas_tint(canvas, rect_make(inside.row + (int)(row - dialog->list.top), inside.col, 1, inside.cols),
                    LOOK_SELECT);
}

bool dialog_pressed(const struct key *key, uint32_t code)
{
    return key->code == code && !key->ctrl && !key->alt;
}

bool dialog_pages(struct dialog *dialog, const struct key *key, enum action action)
{
    bool pages = !key->code || key->code == KEYSYM_PGUP || key->code == KEYSYM_PGDN;
    return pages && list_scroll(&dialog->list, action, dialog->height);
}

int dialog_rows(const char *text, int cols)
{
    return flow_rows(&(struct canvas){.ascii = !text_utf8()}, text, cols);
}

/* ---- the filter of a list ---- */

#define FILTER_LABEL "show: "

void list_filter_init(struct list_filter *filter)
{
    *filter = (struct list_filter){0};
    filter_init(&filter->filter);
    input_init(&filter->line, false);
}

void list_filter_release(struct list_filter *filter)
{
    filter_release(&filter->filter);
    matches_release(&filter->matches);
    input_release(&filter->line);
}

struct rect list_filter_paint(const struct list_filter *filter, struct canvas *canvas, struct rect inside)
{
    if (!filter->typing && !filter->line.text.len)
        return inside;
    struct rect line = rect_make(inside.row, inside.col + 1, 1, inside.cols - 2);
    if (filter->typing) {
        input_paint(&filter->line, canvas, line, FILTER_LABEL);
    } else {
        int col = canvas_str(canvas, line, 0, 0, LOOK_INPUT, FILTER_LABEL);
        canvas_cut(canvas, line, 0, col, LOOK_INPUT, filter->line.text.buf, filter->line.text.len);
    }
    return rect_make(inside.row + 1, inside.col, inside.rows - 1, inside.cols);
}

/* What row_fits is asked about. */
struct filtered_rows {
    const struct filter *filter;
    const struct view *view;
    void (*words)(const struct view *view, size_t row, struct strbuf *out);
};

static bool row_fits(size_t row, void *data)
{
    const struct filtered_rows *rows = data;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    if (!rows->filter->count)
        return true;
    rows->words(rows->view, row, &words);
    return filter_text_fits(rows->filter, words.buf, words.len);
}

size_t list_filter_rows(struct list_filter *filter, const struct view *view, size_t total,
                        void (*words)(const struct view *view, size_t row, struct strbuf *out))
{
    struct filtered_rows rows = {&filter->filter, view, words};
    matches_reset(&filter->matches);
    matches_work(&filter->matches, total, total, row_fits, &rows);
    return filter->matches.count;
}

size_t list_filter_row(const struct list_filter *filter, size_t index)
{
    return index < filter->matches.count ? filter->matches.rows[index] : SIZE_MAX;
}

bool list_filter_paint_nothing(const struct list_filter *filter, struct canvas *canvas, struct rect in)
{
    if (!filter->filter.count)
        return false;
    canvas_str(canvas, in, 0, 1, LOOK_DIM, "Nothing here has that in it. Backspace takes letters back.");
    return true;
}

static void read_filter(struct list_filter *filter, struct dialog *dialog)
{
    filter_parse_texts(&filter->filter, filter->line.text.buf);
    filter->version++;
    dialog->list.cursor = dialog->list.top = 0;
}

bool list_filter_key(struct list_filter *filter, struct dialog *dialog, const struct key *key, enum action action)
{
    if (!filter->typing)
        return filter->typing = action == ACTION_SEARCH || action == ACTION_FILTER;
    switch (input_key(&filter->line, key)) {
    case INPUT_CHANGED:
        read_filter(filter, dialog);
        return true;
    case INPUT_CLOSED:
        input_set(&filter->line, "");
        filter->typing = false;
        read_filter(filter, dialog);
        return true;
    case INPUT_DONE:
        filter->typing = false;
        return true;
    case INPUT_IGNORED:
        break;
    }
    return list_action(&dialog->list, action, dialog->height) ||
           (action != ACTION_CANCEL && action != ACTION_SUSPEND && action != ACTION_REDRAW);
}

const char *list_filter_footer(const struct list_filter *filter, const char *otherwise)
{
    return filter->typing ? "Enter keep   Esc show all" : otherwise;
}

/* ---- a list ---- */

struct list_dialog {
    struct dialog dialog;
    const struct dialog_list *form;
    struct list_filter filter;
};

static void list_dialog_release(struct dialog *dialog)
{
    list_filter_release(&((struct list_dialog *)dialog)->filter);
}

/* What is said where there are no rows; {name} becomes the key of that action. */
static void add_empty(struct strbuf *out, const struct list_dialog *shown, const struct view *view)
{
    const char *text = shown->form->empty_of ? shown->form->empty_of(view) : shown->form->empty;
    for (const char *brace; (brace = strchr(text, '{')); text = strchr(brace, '}') + 1) {
        CLEANUP(free) char *name = xmemdup0(brace + 1, strcspn(brace + 1, "}"));
        strbuf_add(out, text, (size_t)(brace - text));
        strbuf_addstr(out, keymap_key(ui_keymap(shown->dialog.ui), action_from_name(name)));
    }
    strbuf_addstr(out, text);
}

/* One row is for what is typed, one stays blank above the hint. */
static struct rect list_dialog_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    const struct list_dialog *shown = (struct list_dialog *)dialog;
    size_t count = shown->form->count(view);
    int width = shown->form->cols < cols - 4 ? shown->form->cols : cols - 4;
    int list = (int)(count < LIST_ROWS_MAX ? count : LIST_ROWS_MAX);
    if (!count) {
        CLEANUP(strbuf) struct strbuf empty = STRBUF_INIT;
        add_empty(&empty, shown, view);
        list = dialog_rows(empty.buf, width - 4);
    }
    int hint = shown->form->hint ? dialog_rows(shown->form->hint, width - 4) : 0;
    return dialog_center(rows, cols, list + hint + 4, width);
}

static void list_dialog_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                              struct rect inside)
{
    struct list_dialog *shown = (struct list_dialog *)dialog;
    const struct dialog_list *form = shown->form;
    struct rect text = rect_make(inside.row, inside.col, inside.rows, inside.cols - 1);
    int hint = form->hint ? 1 + flow_rows(canvas, form->hint, inside.cols - 2) : 0;
    (void)ui;
    struct rect body =
        list_filter_paint(&shown->filter, canvas, rect_make(inside.row, inside.col, inside.rows - hint, inside.cols));
    size_t count = list_filter_rows(&shown->filter, view, form->count(view), form->words);
    dialog->height = body.rows;
    list_update(&dialog->list, count, body.rows);
    if (!count && !list_filter_paint_nothing(&shown->filter, canvas, body)) {
        CLEANUP(strbuf) struct strbuf empty = STRBUF_INIT;
        add_empty(&empty, shown, view);
        flow_paint(canvas, rect_make(body.row, body.col, body.rows, text.cols), 0, 1, LOOK_DIM, empty.buf);
    }
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < count; i++) {
        size_t place = dialog->list.top + (size_t)i;
        form->paint(view, list_filter_row(&shown->filter, place), canvas,
                    rect_make(body.row + i, body.col, 1, body.cols));
        dialog_select_row(canvas, body, dialog, place);
    }
    if (form->hint)
        flow_paint(canvas, text, inside.rows - hint + 1, 1, LOOK_DIM, form->hint);
}

static bool list_dialog_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                            enum action action)
{
    struct list_dialog *shown = (struct list_dialog *)dialog;
    if (list_filter_key(&shown->filter, dialog, key, action))
        return true;
    size_t row = list_filter_row(&shown->filter, dialog->list.cursor);
    return shown->form->key(ui, view, row < shown->form->count(view) ? row : SIZE_MAX, key) ||
           list_action(&dialog->list, action, dialog->height);
}

static const char *list_dialog_footer(struct dialog *dialog, const struct view *view)
{
    const struct list_dialog *shown = (struct list_dialog *)dialog;
    const char *empty = shown->form->empty_footer ? shown->form->empty_footer : "Esc close";
    return list_filter_footer(&shown->filter, shown->form->count(view) ? shown->form->footer : empty);
}

static const struct dialog_ops list_dialog_ops = {.name = "list",
                                                  .size = sizeof(struct list_dialog),
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
    list_filter_init(&shown->filter);
    return &shown->dialog;
}

/* ---- a text to type ---- */

struct text_dialog {
    struct dialog dialog;
    const struct dialog_text *form;
    struct input input;
    void *user;
    int rows; /* the text would like, when last painted */
};

static void text_dialog_release(struct dialog *dialog)
{
    input_release(&((struct text_dialog *)dialog)->input);
}

static struct rect text_dialog_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    const struct text_dialog *text = (struct text_dialog *)dialog;
    int least = text->form->multiline ? 3 : 1, width = TEXT_COLS < cols - 4 ? TEXT_COLS : cols - 4;
    int lines = text->rows < least ? least : text->rows > TEXT_ROWS_MAX ? TEXT_ROWS_MAX : text->rows;
    (void)view;
    return dialog_center(rows, cols, lines + dialog_rows(text->form->label, width - 4) + 2, TEXT_COLS);
}

static void text_dialog_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                              struct rect inside)
{
    struct text_dialog *text = (struct text_dialog *)dialog;
    (void)ui, (void)view;
    int used = flow_paint(canvas, rect_make(inside.row, inside.col, inside.rows - 1, inside.cols - 1), 0, 1, LOOK_DIM,
                          text->form->label);
    struct rect line = rect_make(inside.row + used, inside.col + 1, inside.rows - used, inside.cols - 2);
    canvas_fill(canvas, line, LOOK_INPUT);
    text->rows = input_paint(&text->input, canvas, line, "");
}

static bool text_dialog_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                            enum action action)
{
    struct text_dialog *text = (struct text_dialog *)dialog;
    (void)view;
    switch (input_key(&text->input, key)) {
    case INPUT_CHANGED:
        return true;
    case INPUT_CLOSED:
        ui_close_dialog(ui);
        return true;
    case INPUT_DONE: {
        /* `done` may open another dialog, so this one goes first. */
        CLEANUP(free) char *typed = xstrdup(text->input.text.buf);
        const struct dialog_text *form = text->form;
        void *user = text->user;
        ui_close_dialog(ui);
        form->done(ui, typed, user);
        return true;
    }
    case INPUT_IGNORED:
        break;
    }
    /* Characters are for the text, whatever they mean elsewhere. */
    return action != ACTION_CANCEL && action != ACTION_SUSPEND && action != ACTION_REDRAW;
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
    text->form = form;
    text->user = user;
    text->dialog.title = form->title;
    text->dialog.footer = form->multiline ? "Enter done   Alt-Enter new line   Esc close" : "Enter done   Esc close";
    input_init(&text->input, form->multiline);
    input_set(&text->input, initial);
    return &text->dialog;
}

/* ---- a question about something that cannot be taken back lightly ---- */

struct confirm_dialog {
    struct dialog dialog;
    char *question;
    void (*yes)(struct ui *ui, void *user);
    void *user;
};

static void confirm_release(struct dialog *dialog)
{
    free(((struct confirm_dialog *)dialog)->question);
}

static struct rect confirm_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    int width = CONFIRM_COLS < cols - 4 ? CONFIRM_COLS : cols - 4;
    (void)view;
    return dialog_center(rows, cols, dialog_rows(((struct confirm_dialog *)dialog)->question, width - 4) + 5, width);
}

static void confirm_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                          struct rect inside)
{
    struct rect text = rect_make(inside.row, inside.col, inside.rows, inside.cols - 1);
    (void)ui, (void)view;
    int row = 1 + flow_paint(canvas, text, 0, 1, LOOK_STRONG, ((struct confirm_dialog *)dialog)->question);
    int at = 1 + canvas_str(canvas, inside, row, 1, LOOK_FOOTER_KEY, "y");
    at += canvas_str(canvas, inside, row, at, LOOK_TEXT, " yes    ");
    at += canvas_str(canvas, inside, row, at, LOOK_FOOTER_KEY, "n");
    canvas_str(canvas, inside, row, at, LOOK_TEXT, " no");
}

static bool confirm_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    const struct confirm_dialog confirm = *(struct confirm_dialog *)dialog;
    (void)view, (void)action;
    if (!dialog_pressed(key, 'y') && !dialog_pressed(key, 'n'))
        return false;
    ui_close_dialog(ui);
    if (key->code == 'y')
        confirm.yes(ui, confirm.user);
    return true;
}

static const struct dialog_ops confirm_ops = {.name = "confirm",
                                              .title = "sure?",
                                              .footer = "y yes   n no   Esc no",
                                              .size = sizeof(struct confirm_dialog),
                                              .release = confirm_release,
                                              .place = confirm_place,
                                              .paint = confirm_paint,
                                              .key = confirm_key};

struct dialog *dialog_confirm_new(const char *question, void (*yes)(struct ui *ui, void *user), void *user)
{
    struct confirm_dialog *confirm = (struct confirm_dialog *)dialog_alloc(&confirm_ops);
    confirm->question = xstrdup(question);
    confirm->yes = yes;
    confirm->user = user;
    return &confirm->dialog;
}

/* ---- a text to read ---- */

struct document_dialog {
    struct dialog dialog;
    struct pretty text;
};

static void document_release(struct dialog *dialog)
{
    pretty_release(&((struct document_dialog *)dialog)->text);
}

static struct rect document_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    const struct pretty *text = &((struct document_dialog *)dialog)->text;
    int lines = text->count < (size_t)rows ? (int)text->count : rows;
    (void)view;
    return dialog_center(rows, cols, (lines > DOCUMENT_ROWS_MIN ? lines : DOCUMENT_ROWS_MIN) + 2, text->width + 4);
}

static void document_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                           struct rect inside)
{
    const struct pretty *text = &((struct document_dialog *)dialog)->text;
    struct rect body = rect_make(inside.row, inside.col + 1, inside.rows, inside.cols - 2);
    (void)ui, (void)view;
    list_settle(&dialog->list, text->count, body.rows);
    pretty_paint(text, canvas, body, dialog->list.top, dialog->list.left);
}

static bool document_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                         enum action action)
{
    (void)view, (void)key;
    if (action == ACTION_COPY) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        pretty_write(&((struct document_dialog *)dialog)->text, &text);
        ui_get_host(ui)->copy(ui_get_host(ui), text.buf, text.len);
        ui_say(ui, LOOK_GOOD, "Copied %zu bytes to the clipboard.", text.len);
        return true;
    }
    if (action == ACTION_INSPECT) { /* the key that opened it closes it */
        ui_close_dialog(ui);
        return true;
    }
    return list_scroll(&dialog->list, action, dialog->height);
}

static const struct dialog_ops document_ops = {.name = "document",
                                               .footer = "arrows PgUp PgDn scroll   Y copy   Esc close",
                                               .size = sizeof(struct document_dialog),
                                               .release = document_release,
                                               .place = document_place,
                                               .paint = document_paint,
                                               .key = document_key};

struct dialog *dialog_document_new(const char *title, struct pretty *take_document)
{
    struct document_dialog *document = (struct document_dialog *)dialog_alloc(&document_ops);
    document->dialog.title = title;
    document->text = *take_document;
    pretty_init(take_document, 0);
    return &document->dialog;
}
