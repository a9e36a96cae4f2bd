/* Every key, made from the action table: those that count at this moment first. `/` narrows the list down, by what a
 * key does, by its action or by the key itself. */

#include "base/mem.h"
#include "dialog.h"
#include "ui.h"
#include <string.h>

#define HELP_COLUMNS 96
#define KEYS_COLUMNS 22
#define NARROW       70 /* columns of the dialog below which keys have to do with less */
#define KEYS_NARROW  16

static const struct {
    unsigned context;
    const char *title;
} sections[] = {
    {IN_PROGRAM, "Where a program is shown"},
    {IN_QUESTION, "While a write waits"},
    {IN_REPLAY, "In a recording"},
    {IN_STEP, "While a turn runs"},
    {IN_ALL, "Everywhere"},
};

/* A row is an action, the rest of what it says, a heading or a blank. */
struct help_row {
    enum action action; /* ACTION_NONE: a heading, or a blank when `section` is SIZE_MAX */
    size_t section;
    bool now;         /* counts at this moment */
    const char *text; /* this row's part of the help */
    size_t len;
};

struct help_dialog {
    struct dialog dialog;
    unsigned contexts;
    int width; /* that the rows were made for */
    struct keymap *keymap;
    struct help_row *rows;
    size_t count, room;
    struct list_filter filter;
    unsigned version; /* of the filter, that they were made for */
};

static void add_row(struct help_dialog *help, struct help_row row)
{
    GROW(help->rows, help->count, help->room);
    help->rows[help->count++] = row;
}

static bool wanted(const struct help_dialog *help, enum action action)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    strbuf_addf(&words, "%s %s ", action_help(action), action_name(action));
    keymap_keys(help->keymap, action, &words);
    return filter_text_fits(&help->filter.filter, words.buf, words.len);
}

static int keys_columns(const struct help_dialog *help)
{
    return help->width < NARROW ? KEYS_NARROW : KEYS_COLUMNS;
}

/* The action, and as many rows more as its help needs. */
static void add_action(struct help_dialog *help, struct help_row row)
{
    const char *text = action_help(row.action);
    size_t room = (size_t)(help->width - keys_columns(help) - 2);
    do {
        size_t len = strlen(text);
        if (len > room) {
            for (len = room; len && text[len] != ' '; len--)
                ;
            len = len ? len : room;
        }
        row.text = text;
        row.len = len;
        add_row(help, row);
        row = (struct help_row){ACTION_NONE, SIZE_MAX, row.now, NULL, 0};
        text += len + strspn(text + len, " ");
    } while (*text);
}

static void add_section(struct help_dialog *help, size_t section, bool now)
{
    size_t first = help->count;
    for (int action = ACTION_NONE + 1; action < ACTION_COUNT; action++) {
        if (action_contexts((enum action)action) != sections[section].context || !wanted(help, (enum action)action))
            continue;
        if (first == help->count) {
            if (help->count)
                add_row(help, (struct help_row){ACTION_NONE, SIZE_MAX, now, NULL, 0});
            add_row(help, (struct help_row){ACTION_NONE, section, now, NULL, 0});
        }
        add_action(help, (struct help_row){(enum action)action, section, now, NULL, 0});
    }
}

static void fill(struct help_dialog *help)
{
    help->count = 0;
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if (sections[i].context & help->contexts)
            add_section(help, i, true);
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if (!(sections[i].context & help->contexts))
            add_section(help, i, false);
}

/* The width is the screen's: the rows are made when it is known, and again for what is typed. */
static void prepare(struct help_dialog *help, struct ui *ui, int width)
{
    if (help->keymap && help->width == width && help->version == help->filter.version)
        return;
    help->keymap = ui_keymap(ui);
    help->width = width;
    help->version = help->filter.version;
    fill(help);
}

static void help_release(struct dialog *dialog)
{
    struct help_dialog *help = (struct help_dialog *)dialog;
    free(help->rows);
    list_filter_release(&help->filter);
}

static struct rect help_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    (void)dialog;
    (void)view;
    return dialog_center(rows, cols, 60, HELP_COLUMNS);
}

static void help_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                       struct rect inside)
{
    struct help_dialog *help = (struct help_dialog *)dialog;
    (void)view;
    prepare(help, ui, inside.cols);
    struct rect body = list_filter_paint(&help->filter, canvas, inside);
    list_update(&dialog->list, help->count, body.rows);
    if (!help->count)
        list_filter_paint_nothing(&help->filter, canvas, body);
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < help->count; i++) {
        const struct help_row *row = &help->rows[dialog->list.top + (size_t)i];
        enum look look = row->now ? LOOK_TEXT : LOOK_DIM;
        if (row->action == ACTION_NONE && row->section != SIZE_MAX) {
            int at = canvas_str(canvas, body, i, 1, LOOK_MODAL_TITLE, sections[row->section].title);
            if (!row->now)
                canvas_str(canvas, body, i, at + 3, LOOK_DIM, "(not now)");
        } else if (row->action != ACTION_NONE) {
            CLEANUP(strbuf) struct strbuf keys = STRBUF_INIT;
            keymap_keys(ui_keymap(ui), row->action, &keys);
            canvas_str(canvas, rect_make(body.row, body.col, body.rows, keys_columns(help)), i, 3,
                       row->now ? LOOK_FOOTER_KEY : LOOK_DIM, keys.buf);
        }
        if (row->text)
            canvas_text(canvas, body, i, keys_columns(help) + 1, look, row->text, row->len);
        dialog_select_row(canvas, body, dialog, dialog->list.top + (size_t)i);
    }
    if (dialog->list.top + (size_t)body.rows < help->count)
        canvas_right(canvas, body, body.rows - 1, 1, LOOK_DIM, canvas_sign(canvas, SIGN_DOWN));
}

static bool help_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                     enum action action)
{
    (void)ui, (void)view;
    return list_filter_key(&((struct help_dialog *)dialog)->filter, dialog, key, action) ||
           list_action(&dialog->list, action, dialog->height);
}

static const char *help_footer(struct dialog *dialog, const struct view *view)
{
    (void)view;
    return list_filter_footer(&((struct help_dialog *)dialog)->filter, "/ search   Up/Down scroll   Esc close");
}

static const struct dialog_ops help_ops = {.name = "help",
                                           .title = "keys",
                                           .size = sizeof(struct help_dialog),
                                           .release = help_release,
                                           .place = help_place,
                                           .paint = help_paint,
                                           .key = help_key,
                                           .footer_of = help_footer};

struct dialog *dialog_help_new(unsigned contexts)
{
    struct help_dialog *help = (struct help_dialog *)dialog_alloc(&help_ops);
    help->contexts = contexts;
    help->width = HELP_COLUMNS - 2;
    list_filter_init(&help->filter);
    return &help->dialog;
}
