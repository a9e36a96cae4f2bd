/* The input lines at the bottom of the screen: search, filter, command, prompt. One line is open at a time. Each keeps
 * its text and its history when it is closed. */

#include "command.h"
#include "ui_internal.h"
#include <string.h>

#define PROMPT_ROWS_MAX 8

static const struct {
    const char *label, *footer;
} line_table[LINE_COUNT] = {
    [LINE_SEARCH] = {"search: ", "Enter find   Up history   Esc close"},
    [LINE_FILTER] = {"filter: ", "Enter apply   empty shows all   Esc undo"},
    [LINE_COMMAND] = {":", "Tab complete   Enter run   Up history   Esc close"},
    [LINE_PROMPT] = {"prompt> ", "Enter send   Alt-Enter new line   Up history   Esc close"},
};

static void replace(char **place, const char *text)
{
    char *copy = text ? xstrdup(text) : NULL;
    free(*place);
    *place = copy;
}

bool ui_filter(struct ui *ui, const struct view *view, const char *text)
{
    return pane_filter(ui_pane(ui), view, text);
}

void ui_message_lost(struct ui *ui, const struct pane *pane)
{
    ui_message(ui, LOOK_WARN, "No match for \"%s\" in the %s%s.", pane->search_text ? pane->search_text : "",
               pane->ops->name, pane->rows_filter.filtered ? " as filtered" : "");
}

static void search(struct ui *ui, const struct view *view, bool back)
{
    struct pane *pane = ui_pane(ui);
    if (!ui->searched || !*ui->searched) {
        ui_message(ui, LOOK_TEXT, "No search yet. %s starts one.", keymap_key(ui->keymap, ACTION_SEARCH));
        return;
    }
    replace(&pane->search_text, ui->searched);
    if (pane_search(pane, view, back) == ROW_FILTER_NOT)
        ui_message_lost(ui, pane);
}

void ui_search_again(struct ui *ui, const struct view *view, enum action action)
{
    search(ui, view, action == ACTION_SEARCH_PREVIOUS);
}

static void forget_offers(struct ui *ui)
{
    strbuf_reset(&ui->offers);
    ui->offers_first = ui->offers_next = 0;
}

void ui_open_line(struct ui *ui, const struct view *view, enum ui_line line)
{
    struct pane *pane = ui_pane(ui);
    if (line == LINE_PROMPT && view->mode == VIEW_REPLAY) {
        ui_message(ui, LOOK_TEXT, "A recording takes no prompts. %s forks a live session from here.",
                   keymap_key(ui->keymap, ACTION_FORK));
        return;
    }
    /* A user who opens a filter continues typing. In a pane without a filter, that text must not act as keys. */
    if (line == LINE_FILTER && !pane->ops->rows) {
        ui_message(ui, LOOK_TEXT, "The %s has no rows to filter. This searches it.", pane->ops->name);
        line = LINE_SEARCH;
    }
    if (line == LINE_FILTER) {
        replace(&ui->filter_before, pane->filter_text ? pane->filter_text : "");
        input_set(&ui->lines[line], ui->filter_before);
    } else if (line != LINE_PROMPT) {
        input_set(&ui->lines[line], "");
    }
    forget_offers(ui);
    ui->line = line;
}

void ui_begin_line(struct ui *ui, const struct view *view, enum action action)
{
    ui_open_line(ui, view,
                 action == ACTION_SEARCH    ? LINE_SEARCH
                 : action == ACTION_FILTER  ? LINE_FILTER
                 : action == ACTION_COMMAND ? LINE_COMMAND
                                            : LINE_PROMPT);
}

static void ui_close_line(struct ui *ui, const struct view *view)
{
    if (ui->line == LINE_FILTER && ui->filter_before)
        pane_filter(ui_pane(ui), view, ui->filter_before);
    ui->line = LINE_NONE;
}

/* A command typed into the prompt line runs as a command. It is not sent to the model. */
static void run_prompt(struct ui *ui, const struct view *view, struct input *input)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *line = xstrdup(input->text.buf + 1);
    if (command_run(ui, view, line, &err)) {
        ui_message(ui, LOOK_ERROR, "%s", err.text);
        return;
    }
    input_set(input, "");
}

static void send_prompt(struct ui *ui, const struct view *view, struct input *input)
{
    if (input->text.buf[0] == ':') {
        run_prompt(ui, view, input);
        return;
    }
    struct intent intent = {.type = INTENT_START, .start = {input->text.buf}};
    if (strspn(input->text.buf, " \t\n") == input->text.len) {
        ui_message(ui, LOOK_TEXT, "The prompt is empty.");
        return;
    }
    if (session_turn_running(view->session)) {
        ui_message(ui, LOOK_TEXT, "A turn is running. Your text stays here; send it when the turn ends.");
        return;
    }
    if (!ui_submit(ui, &intent))
        return;
    input_remember(input);
    input_set(input, "");
    ui->line = LINE_NONE;
}

static void run_command(struct ui *ui, const struct view *view, struct input *input)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *line = xstrdup(input->text.buf);
    ui->line = LINE_NONE;
    if (!*line)
        return;
    input_remember(input);
    if (command_run(ui, view, line, &err))
        ui_message(ui, LOOK_ERROR, "%s", err.text);
}

static void line_done(struct ui *ui, const struct view *view, struct input *input)
{
    switch (ui->line) {
    case LINE_SEARCH:
        if (input->text.len) {
            replace(&ui->searched, input->text.buf);
            input_remember(input);
        }
        ui->line = LINE_NONE;
        search(ui, view, false);
        break;
    case LINE_FILTER:
        if (input->text.len)
            input_remember(input);
        pane_filter(ui_pane(ui), view, input->text.buf);
        ui->line = LINE_NONE;
        break;
    case LINE_COMMAND:
        run_command(ui, view, input);
        break;
    case LINE_PROMPT:
        send_prompt(ui, view, input);
        break;
    default:
        ui->line = LINE_NONE;
        break;
    }
}

static void complete(struct ui *ui, const struct view *view, struct input *input)
{
    CLEANUP(strbuf) struct strbuf completed = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf offers = STRBUF_INIT;
    if (command_complete(view, input->text.buf, &completed, &offers))
        input_set(input, completed.buf);
    /* The completions did not change: Tab shows those that had no room before. */
    bool same = offers.len == ui->offers.len && strcmp(offers.buf, ui->offers.buf) == 0;
    ui->offers_first = same ? ui->offers_next : 0;
    strbuf_reset(&ui->offers);
    strbuf_add(&ui->offers, offers.buf, offers.len);
}

static const char *skip_offers(const char *at, size_t count)
{
    while (count-- && *at) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return at;
}

/* Paints as many completions as fit on the line, starting with the first to be shown. The number of the others is at
 * its end. */
static void paint_offers(struct ui *ui, struct canvas *canvas, struct rect line)
{
    const char *at = skip_offers(ui->offers.buf, ui->offers_first);
    size_t count = 0, shown = ui->offers_first;
    for (const char *each = ui->offers.buf; *each; count++)
        each = skip_offers(each, 1);
    bool all = ui->offers_first == 0 && canvas_str_columns(canvas, at, strlen(at)) <= line.cols - 2;
    CLEANUP(free) char *more = all ? xstrdup("") : xasprintf("+%zu more: Tab", count);
    int end = line.cols - 1 - (int)strlen(more) - (*more ? 2 : 0), col = 1;
    canvas_fill(canvas, line, LOOK_HINT);
    while (*at) {
        CLEANUP(free) char *word = xmemdup0(at, strcspn(at, " "));
        if (shown > ui->offers_first && col + canvas_str_columns(canvas, word, strlen(word)) > end)
            break;
        col += canvas_str(canvas, rect_make(line.row, line.col, 1, end), 0, col, LOOK_HINT, word) + 2;
        at = skip_offers(at, 1);
        shown++;
    }
    ui->offers_next = shown < count ? shown : 0;
    if (!all) {
        CLEANUP(free) char *rest = xasprintf("+%zu more: Tab", count - (shown - ui->offers_first));
        canvas_right(canvas, line, 0, 1, LOOK_HINT, rest);
    }
}

void ui_line_key(struct ui *ui, const struct view *view, const struct key *key)
{
    struct input *input = &ui->lines[ui->line];
    enum action action = keymap_find(ui->keymap, IN_ALL, key);
    if (ui->line == LINE_COMMAND && key->code == KEYSYM_TAB && !input->pasting) {
        complete(ui, view, input);
        return;
    }
    if (action == ACTION_CANCEL && !input->pasting) {
        /* As in a shell: Ctrl-C first clears the text of a prompt, then closes the line. It cancels the turn only if no
         * line is open. */
        if (input->text.len && ui->line == LINE_PROMPT)
            input_set(input, "");
        else
            ui_close_line(ui, view);
        return;
    }
    if ((action == ACTION_SUSPEND || action == ACTION_REDRAW) && key->ctrl) {
        ui_act(ui, view, action);
        return;
    }
    switch (input_key(input, key)) {
    case INPUT_CHANGED:
        forget_offers(ui);
        if (ui->line == LINE_FILTER)
            pane_filter(ui_pane(ui), view, input->text.buf);
        break;
    case INPUT_DONE:
        line_done(ui, view, input);
        break;
    case INPUT_CLOSED:
        ui_close_line(ui, view);
        break;
    case INPUT_IGNORED:
        break;
    }
}

void ui_line_paint(struct ui *ui, struct canvas *canvas, struct rect footer, const struct view *view)
{
    const struct input *input = &ui->lines[ui->line];
    const char *label = line_table[ui->line].label, *above = NULL;
    CLEANUP(free) char *note = NULL;
    int most = canvas->rows / 3 < PROMPT_ROWS_MAX ? canvas->rows / 3 : PROMPT_ROWS_MAX;
    /* Paint it once outside the screen to learn how many rows it needs. */
    int rows = input_paint(input, canvas, rect_make(canvas->rows, 0, 1, canvas->cols - 2), label);
    rows = rows < 1 ? 1 : rows > most ? most : rows;
    struct rect rect = rect_make(footer.row - rows, 0, rows, canvas->cols);
    canvas_fill(canvas, rect, LOOK_INPUT);
    input_paint(input, canvas, rect_make(rect.row, 1, rows, canvas->cols - 2), label);
    if (ui->message) {
        ui_message_paint(ui, canvas, rect.row);
        return;
    }
    if (ui->line == LINE_COMMAND && ui->offers.len) {
        paint_offers(ui, canvas, rect_make(rect.row - 1, 0, 1, canvas->cols));
        return;
    }
    if (ui->line == LINE_COMMAND)
        above = command_usage(input->text.buf);
    if (!above && view_question(view))
        above = note = xasprintf("A write waits for approval: press Esc, then %s or %s.",
                                 keymap_key(ui->keymap, ACTION_APPROVE), keymap_key(ui->keymap, ACTION_DENY));
    if (!above && ui->line == LINE_PROMPT && session_turn_running(view->session))
        above = "A turn is running. You can send this when it ends.";
    if (above)
        ui_note_paint(canvas, rect.row, LOOK_HINT, above);
}

const char *ui_line_footer(const struct ui *ui)
{
    return line_table[ui->line].footer;
}
