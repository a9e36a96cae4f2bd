/* Breakpoints: what holds the turn, and what is passed for now. */

#include "base/mem.h"
#include "dialog.h"
#include "flow.h"
#include "narrow.h"
#include "ui.h"
#include <string.h>

#define WIDTH    72
#define ROWS_MAX 20
#define SYNTAX   "tool=NAME effect=CLASS path=GLOB outcome=TYPE budget=N% gate=NAME"
#define NONE     "No breakpoints. a adds one; %s on a call or an event sets one there."

struct breaks {
    struct dialog dialog;
    struct narrow narrow;
};

static struct narrow *narrow_of(struct dialog *dialog)
{
    return &((struct breaks *)dialog)->narrow;
}

static void breaks_release(struct dialog *dialog)
{
    narrow_release(narrow_of(dialog));
}

static bool break_fits(const struct filter *filter, size_t row, const void *data)
{
    const struct gates *gates = data;
    return filter_text_fits(filter, gates->breaks[row].text, strlen(gates->breaks[row].text));
}

static struct rect breaks_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    (void)dialog;
    size_t count = view->gates ? view->gates->count : 0;
    int width = WIDTH < cols - 4 ? WIDTH : cols - 4;
    int list = count ? (int)(count < ROWS_MAX ? count : ROWS_MAX) : dialog_rows(NONE, width - 4);
    return dialog_center(rows, cols, list + dialog_rows(SYNTAX, width - 4) + 4, width);
}

static void breaks_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                         struct rect inside)
{
    const struct gates *gates = view->gates;
    struct narrow *narrow = narrow_of(dialog);
    int syntax = flow_rows(canvas, SYNTAX, inside.cols - 2);
    struct rect body =
        narrow_paint(narrow, canvas, rect_make(inside.row, inside.col, inside.rows - syntax - 1, inside.cols));
    size_t count = narrow_rows(narrow, gates ? gates->count : 0, break_fits, gates);
    list_update(&dialog->list, count, body.rows);
    if (!count && !narrow_paint_nothing(narrow, canvas, body)) {
        CLEANUP(free) char *none = xasprintf(NONE, keymap_key(ui_keymap(ui), ACTION_BREAK_HERE));
        flow_paint(canvas, rect_make(body.row, body.col, body.rows, body.cols - 1), 0, 1, LOOK_DIM, none);
    }
    for (int i = 0; i < body.rows && dialog->list.top + (size_t)i < count; i++) {
        const struct breakpoint *point = &gates->breaks[narrow_row(narrow, dialog->list.top + (size_t)i)];
        enum look look = point->enabled ? LOOK_TEXT : LOOK_DIM;
        canvas_printf(canvas, body, i, 1, look, "%s %2d  ", point->enabled ? "[x]" : "[ ]", point->id);
        bool nothing = view_breaks_on_nothing(view, point->text);
        const char *note = nothing           ? "! no tool of that name"
                           : !point->enabled ? "passed for now"
                           : point->hit      ? "held once this turn"
                                             : "";
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        flow_path(&text, canvas, point->text, body.cols - 9 - 1 - (*note ? (int)strlen(note) + 2 : 0));
        canvas_str(canvas, body, i, 9, look, text.buf);
        canvas_right(canvas, body, i, 1, nothing ? LOOK_WARN : LOOK_DIM, note);
        dialog_select_row(canvas, body, dialog, dialog->list.top + (size_t)i);
    }
    flow_paint(canvas, rect_make(inside.row, inside.col, inside.rows, inside.cols - 1), inside.rows - syntax, 1,
               LOOK_DIM, SYNTAX);
}

static void ask_for_one(struct ui *ui, const char *text);

/* One that is refused can be mended: what was typed is still there. */
static void add_break(struct ui *ui, const char *text, void *data)
{
    (void)data;
    if (*text && !ui_submit(ui, &(struct intent){.type = INTENT_BREAK, .breakpoint = {text}}))
        ask_for_one(ui, text);
}

static void ask_for_one(struct ui *ui, const char *text)
{
    ui_open_dialog(ui, dialog_text_new("new breakpoint", SYNTAX, text, false, add_break, NULL));
}

static bool breaks_key(struct dialog *dialog, struct ui *ui, const struct view *view, const struct key *key,
                       enum action action)
{
    const struct gates *gates = view->gates;
    if (narrow_key(narrow_of(dialog), dialog, key, action) != NARROW_NOT)
        return true;
    size_t row = narrow_row(narrow_of(dialog), dialog->list.cursor);
    const struct breakpoint *point = gates && row < gates->count ? &gates->breaks[row] : NULL;
    bool plain = !key->ctrl && !key->alt;
    if (plain && key->code == 'a') {
        ask_for_one(ui, "");
    } else if (plain && point && (key->code == ' ' || key->code == KEYSYM_ENTER)) {
        ui_submit(ui, &(struct intent){.type = INTENT_ARM, .arm = {point->id, !point->enabled}});
    } else if (plain && point && (key->code == 'd' || key->code == KEYSYM_DELETE)) {
        ui_submit(ui, &(struct intent){.type = INTENT_UNBREAK, .unbreak = {point->id}});
    } else if (action == ACTION_NONE || !list_action(&dialog->list, action, dialog->height - 2)) {
        return false;
    }
    return true;
}

static const char *breaks_title(struct dialog *dialog, const struct view *view)
{
    (void)dialog;
    (void)view;
    return "breakpoints";
}

static const char *breaks_footer(struct dialog *dialog, const struct view *view)
{
    return narrow_footer(narrow_of(dialog), view->gates && view->gates->count
                                                ? "a add   Space hold/pass   d delete   / search   Esc close"
                                                : "a add   Esc close");
}

static const struct dialog_ops breaks_ops = {.name = "breaks",
                                             .size = sizeof(struct breaks),
                                             .release = breaks_release,
                                             .place = breaks_place,
                                             .paint = breaks_paint,
                                             .key = breaks_key,
                                             .title = breaks_title,
                                             .footer = breaks_footer};

struct dialog *dialog_breaks_new(void)
{
    struct dialog *dialog = dialog_alloc(&breaks_ops);
    narrow_init(narrow_of(dialog));
    return dialog;
}
