/* The dialog of a program that outlives its call, as its terminal would show it. It shows the printed lines and follows
 * the newest until the user scrolls. While the program paints a screen (vim, htop, top), it shows that screen. Several
 * programs are tabs.
 *
 * While the turn is held or over, the user can type into a running program, and can kill it. A recording shows the same
 * but allows neither. The user types lines in an input line of the dialog. A full-screen program gets each key at once,
 * until Ctrl-]. */

#include "panes/program.h"
#include "app/ui.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dialog.h"
#include "screen/text.h"
#include "workspace/program_control.h"
#include <string.h>

#define TAB_COLS 24 /* width of a program's name and command */
#define WHY_ROWS 3  /* rows for the reason it ended */

enum program_typing { TYPING_NOT, TYPING_SEARCH, TYPING_INPUT, TYPING_KEYS };

struct program_dialog {
    struct dialog dialog;
    uint32_t program;
    struct program_kept *kept; /* owns the input line, which outlives the dialog */
    struct program_text text;
    enum program_typing typing;
    struct input search_line;
    char *search;
    size_t hit;   /* line of the current match */
    char *ending; /* the program that the confirmation is about */
    bool unsent;  /* the program did not get all of the typed text */
    bool left;    /* it ended while the user typed, at … */
    int64_t left_us;
    char title[80];
    struct strbuf footer;
};

static const struct dialog_ops program_ops;

static struct program_dialog *program_of(struct dialog *dialog)
{
    return (struct program_dialog *)dialog;
}

static void program_release(struct dialog *dialog)
{
    struct program_dialog *shown = program_of(dialog);
    program_text_release(&shown->text);
    input_release(&shown->search_line);
    strbuf_release(&shown->footer);
    free(shown->search);
    free(shown->ending);
}

/* True if there is no program to show; otherwise `program` is valid. */
static bool nothing_to_show(struct program_dialog *shown, const struct view *view)
{
    uint32_t count = view->session->program_count;
    if (count && shown->program >= count) /* no program before, or the recording went back to before it began */
        shown->program = program_wanted(view, SESSION_NONE);
    if (count)
        shown->kept->shown = shown->program;
    return !count;
}

static const char *name_of(const struct program_dialog *shown, const struct view *view)
{
    return session_name(view->session, view->session->programs[shown->program].id);
}

/* ---- input: lines, end of input, an interrupt. A paste is sent line by line. A refused line stays in the input line
 * with all that follows, so that the order is kept ---- */

/* True, after showing why, if the user can neither type into it nor kill it. `typing`: also if it accepts no input
 * now. */
static bool refuses(const struct program_dialog *shown, struct ui *ui, const struct view *view, bool typing)
{
    if (view->mode == VIEW_REPLAY)
        ui_message(ui, LOOK_TEXT, "Recorded program: it takes no input.");
    else if (!session_program_running(view->session, shown->program))
        ui_message(ui, LOOK_TEXT, "The program has ended.");
    else if (typing && program_agent_works(view))
        ui_message(ui, LOOK_TEXT, "The agent is running. %s pauses it at the next stop; then you can type.",
                   keymap_key(ui_keymap(shown->dialog.ui), ACTION_PAUSE));
    else
        return false;
    return true;
}

/* Keep the paste state: an emptied line may still be inside a paste. */
static void empty_line(struct input *line)
{
    bool pasting = line->pasting;
    input_remember(line);
    input_set(line, "");
    line->pasting = pasting;
}

/* Sets whether the line is readable. Text typed while it was masked is never shown later. */
static void mask_line(struct program_dialog *shown, const struct view *view)
{
    struct input *line = &shown->kept->line;
    bool hides = program_hides(view, shown->program);
    if (line->masked && !hides)
        empty_line(line);
    line->masked = hides;
}

static void say_ended(const struct program_dialog *shown, struct ui *ui)
{
    ui_message(ui, LOOK_WARN, "The program has ended.%s", shown->unsent ? " Your unsent text was dropped." : "");
}

/* Closes the line if the program has ended, and shows that. True if it did. */
static bool leave_line(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    bool typing = shown->typing == TYPING_INPUT || shown->typing == TYPING_KEYS;
    if (!typing || session_program_running(view->session, shown->program))
        return false;
    shown->unsent = shown->kept->line.text.len > 0;
    empty_line(&shown->kept->line);
    shown->typing = TYPING_NOT;
    shown->left = true;
    shown->left_us = ui_now_us(ui);
    say_ended(shown, ui);
    return true;
}

/* The user may still be typing when the line closes. These letters must not act as keys, so return true for them. */
static bool too_late(struct program_dialog *shown, struct ui *ui, const struct key *key)
{
    bool text = key->code && !key->ctrl && !key->alt && (key->code < KEYSYM_BASE || key->code == KEYSYM_ENTER);
    shown->left = shown->left && ui_too_new(ui, shown->left_us);
    if (!shown->left || !text)
        return false;
    say_ended(shown, ui);
    return true;
}

static bool send(struct program_dialog *shown, struct ui *ui, const struct view *view, const char *text)
{
    struct intent intent = {.type = INTENT_PROGRAM_INPUT, .program_input = {name_of(shown, view), text}};
    shown->dialog.list.follow = true;
    return ui_submit(ui, &intent);
}

static bool send_line(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    struct input *line = &shown->kept->line;
    CLEANUP(free) char *text = xasprintf("%s\n", line->text.buf ? line->text.buf : "");
    if (!send(shown, ui, view, text))
        return false; /* the typed text is still there */
    empty_line(line);
    return true;
}

static void send_interrupt(struct program_dialog *shown, struct ui *ui, const struct view *view)
{
    bool typing = shown->typing == TYPING_INPUT;
    if (!view->session->programs[shown->program].tty) {
        ui_message(ui, LOOK_TEXT, "This program has no terminal, so Ctrl-C cannot reach it. %s%s%s",
                   typing ? "Press Esc, then " : "", keymap_key(ui_keymap(ui), ACTION_PROGRAM_END),
                   typing ? " to kill it." : " kills it.");
        return;
    }
    if (!send(shown, ui, view, "\x03"))
        return;
    if (typing) /* drop the typed line, as a terminal does */
        empty_line(&shown->kept->line);
    ui_message(ui, LOOK_TEXT, "Sent Ctrl-C.");
}

/* True if the key was a line end in a paste and the line was sent. */
static bool pasted_line(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key)
{
    struct input *line = &shown->kept->line;
    if (key->code == KEYSYM_PASTE_BEGIN)
        shown->unsent = false;
    if (!line->pasting || key->code != KEYSYM_ENTER || key->ctrl || key->alt || shown->unsent)
        return false;
    shown->unsent = !send_line(shown, ui, view);
    return !shown->unsent;
}

/* Handles a key while the line is open. */
static void type_line(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key)
{
    struct input *line = &shown->kept->line;
    if (!line->pasting && !line->text.len && key->ctrl && key->code == 'd') {
        if (send(shown, ui, view, PROGRAM_INPUT_END) && !view->session->programs[shown->program].tty) {
            shown->typing = TYPING_NOT;
            ui_message(ui, LOOK_TEXT, "Closed its input.");
        }
        return;
    }
    if (pasted_line(shown, ui, view, key))
        return;
    enum input_result result = input_key(line, key);
    if (result == INPUT_DONE)
        send_line(shown, ui, view);
    else if (result == INPUT_CLOSED)
        shown->typing = TYPING_NOT;
}

static bool is_full_screen(const struct program_dialog *shown)
{
    return shown->text.screen.full != NULL;
}

/* Sends a key to a full-screen program. Only Ctrl-] is Keyturn's, because such programs use all other keys. */
static void type_key(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    if (key->ctrl && key->code == ']') {
        shown->typing = TYPING_NOT;
        return;
    }
    program_screen_key(&shown->text.screen, key, &bytes);
    if (bytes.len)
        send(shown, ui, view, bytes.buf);
}

/* The program switched between lines and full screen: the user continues typing in the new mode. */
static void follow_screen(struct program_dialog *shown)
{
    if (shown->typing == TYPING_KEYS && !is_full_screen(shown))
        shown->typing = TYPING_INPUT;
    else if (shown->typing == TYPING_INPUT && is_full_screen(shown) && !shown->kept->line.text.len)
        shown->typing = TYPING_KEYS;
}

static struct rect program_place(struct dialog *dialog, int rows, int cols)
{
    int top = dialog->view->mode == VIEW_REPLAY ? 2 : 1; /* keep the timeline bar of a recording visible */
    if (!dialog->view->session->program_count)
        return dialog_center(rows, cols, 5, 72);
    return rect_make(top, 0, rows - top - 1, cols);
}

/* ---- painting: the tabs, the command and its state, the output, the input line. Text wider than the screen is cut
 * with a mark, and the user can scroll to it ---- */

/* "[p1 python3 ask.py]  p2 make watch ", scrolled so that the shown program is visible. */
static void paint_tabs(struct program_dialog *shown, const struct view *view, struct canvas *canvas, struct rect at)
{
    uint32_t count = view->session->program_count, fit = (uint32_t)(at.cols / (TAB_COLS + 3));
    fit = fit ? fit : 1;
    uint32_t first = shown->program / fit * fit;
    int col = 1;
    for (uint32_t row = first; row < count && row < first + fit; row++) {
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        bool here = row == shown->program;
        const struct session_program *program = &view->session->programs[row];
        strbuf_addf(&words, "%s %s", session_name(view->session, program->id), program->cmd);
        canvas_str(canvas, at, 0, col++, LOOK_STRONG, here ? "[" : " ");
        int room = at.cols - col < TAB_COLS ? at.cols - col : TAB_COLS;
        col += canvas_cut(canvas, rect_make(at.row, at.col + col, 1, room > 0 ? room : 0), 0, 0,
                          here ? LOOK_STRONG : program_look(view, row), words.buf, words.len);
        canvas_str(canvas, at, 0, col, LOOK_STRONG, here ? "]" : " ");
        col += 2;
    }
    CLEANUP(free) char *note = xasprintf("%u of %u programs", shown->program + 1, count);
    if (col + canvas_str_columns(canvas, note, strlen(note)) < at.cols)
        canvas_right(canvas, at, 0, 1, LOOK_DIM, note);
}

/* The command and its state; its call, its folder, its kind of input and its number of lines. */
static void paint_head(struct program_dialog *shown, const struct view *view, struct canvas *canvas, struct rect at)
{
    const struct session *session = view->session;
    const struct session_program *program = &session->programs[shown->program];
    CLEANUP(strbuf) struct strbuf state = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    program_state(&state, view, shown->program);
    int right = canvas_right(canvas, at, 0, 1, program_look(view, shown->program), state.buf);
    canvas_str(canvas, at, 0, 1, LOOK_DIM, "$");
    struct rect room = rect_make(at.row, at.col + 3, 1, at.cols - 3 - right - 3);
    canvas_cut(canvas, room, 0, 0, LOOK_STRONG, program->cmd, strlen(program->cmd));
    if (program->call != SESSION_NONE)
        strbuf_addf(&words, "call %u · ", program->call + 1);
    if (*program->cwd)
        strbuf_addf(&words, "in %s · ", program->cwd);
    strbuf_addf(&words, "%s · ", program->tty ? "terminal" : "pipes");
    if (is_full_screen(shown))
        strbuf_addstr(&words, "full screen");
    else /* what a screen painted is no lines */
        text_plural(&words,
                    shown->text.screen.painted ? (int64_t)program_lines_count(&shown->text.screen.lines)
                                               : (int64_t)program->lines,
                    "line", "lines");
    if (program->inputs) {
        strbuf_addstr(&words, " · typed ");
        text_plural(&words, (int64_t)program->inputs, "time", "times");
    }
    if (!shown->dialog.list.follow)
        strbuf_addstr(&words, " · scrolled");
    canvas_str(canvas, rect_make(at.row, at.col, 2, at.cols - 1), 1, 1, LOOK_DIM, words.buf);
}

static void paint_text(struct program_dialog *shown, struct canvas *canvas, struct rect body)
{
    struct program_lines *text = &shown->text.screen.lines;
    struct list *list = &shown->dialog.list;
    size_t count = program_lines_count(text);
    int row = 0, beyond = program_lines_longest(text) - body.cols;
    list_set_lines(list, count, body.rows);
    if (list->left > beyond)
        list->left = beyond > 0 ? beyond : 0;
    if (!count)
        canvas_str(canvas, body, 0, 0, LOOK_DIM,
                   shown->text.screen.painted ? "It used the full screen and printed no lines."
                   : shown->text.ended        ? "It printed nothing."
                                              : "No output yet.");
    for (; row < body.rows && list->top + (size_t)row < count; row++)
        program_lines_paint(text, canvas, body, row, list->left, list->top + (size_t)row);
    text_match_show(canvas, body, shown->search);
}

static void paint_screen(struct program_dialog *shown, struct canvas *canvas, struct rect body)
{
    int beyond = shown->text.screen.cols - body.cols;
    struct list *list = &shown->dialog.list;
    if (list->left > beyond)
        list->left = beyond > 0 ? beyond : 0;
    program_screen_paint(&shown->text.screen, canvas, body, list->left, shown->typing == TYPING_KEYS);
}

/* True if the last row is a line to type in. */
static bool has_line(const struct program_dialog *shown)
{
    return shown->typing == TYPING_SEARCH || shown->typing == TYPING_INPUT;
}

static void paint_line(struct program_dialog *shown, struct canvas *canvas, struct rect at)
{
    if (!has_line(shown))
        return;
    canvas_fill(canvas, at, LOOK_INPUT);
    if (shown->typing == TYPING_SEARCH)
        input_paint(&shown->search_line, canvas, at, "/");
    else
        input_paint(&shown->kept->line, canvas, at, shown->kept->line.masked ? "hidden input: " : "type: ");
}

static void paint_none(const struct dialog *dialog, struct canvas *canvas, struct rect inside)
{
    struct rect room = rect_make(inside.row, inside.col, inside.rows, inside.cols - 1);
    uint32_t call = program_call_only(dialog->view);
    if (call == SESSION_NONE) {
        paragraph_paint(canvas, room, 0, 1, LOOK_DIM,
                        "No program is running. Background and interactive programs of the agent appear here.");
        return;
    }
    CLEANUP(free)
    char *words =
        xasprintf("#%u is a command, not a program: it takes no input. Press %s on its row in the tools pane to "
                  "see its output.",
                  call + 1, keymap_key(ui_keymap(dialog->ui), ACTION_INSPECT));
    paragraph_paint(canvas, room, 0, 1, LOOK_TEXT, words);
}

static void program_paint(struct dialog *dialog, struct canvas *canvas, struct rect inside)
{
    struct program_dialog *shown = program_of(dialog);
    const struct view *view = dialog->view;
    if (nothing_to_show(shown, view)) {
        paint_none(dialog, canvas, inside);
        return;
    }
    mask_line(shown, view);
    leave_line(shown, dialog->ui, view);
    int tabs = view->session->program_count > 1;
    const char *why = program_long_why(view, shown->program); /* in full, if it did not fit in the first row */
    int head = tabs + 2;
    if (why)
        head += paragraph_paint(canvas, rect_make(inside.row + head, inside.col, WHY_ROWS, inside.cols - 1), 0, 1,
                                program_look(view, shown->program), why);
    head++;
    struct rect body =
        rect_make(inside.row + head, inside.col + 1, inside.rows - head - has_line(shown), inside.cols - 1);
    if (body.rows < 1 || body.cols < 10)
        return;
    size_t gone = program_text_update(&shown->text, view, shown->program, body.rows, body.cols);
    follow_screen(shown);
    body.rows = inside.rows - head - has_line(shown);
    shown->hit -= gone < shown->hit ? gone : shown->hit;
    /* If the user scrolled away, keep the same lines visible, also when old lines are dropped. */
    if (!dialog->list.follow)
        list_drop(&dialog->list, gone);
    dialog->height = body.rows;
    dialog->width = body.cols;
    if (tabs)
        paint_tabs(shown, view, canvas, rect_make(inside.row, inside.col, 1, inside.cols));
    paint_head(shown, view, canvas, rect_make(inside.row + tabs, inside.col, 2, inside.cols));
    if (is_full_screen(shown))
        paint_screen(shown, canvas, body);
    else
        paint_text(shown, canvas, body);
    if (!is_full_screen(shown) && dialog->list.top == 0 && (shown->text.earlier || shown->text.screen.lines.dropped))
        canvas_right(canvas, inside, head - 1, 1, LOOK_DIM, "older lines: see the events pane");
    paint_line(shown, canvas, rect_make(inside.row + inside.rows - 1, inside.col + 1, 1, inside.cols - 2));
}

/* ---- title and footer ---- */

static const char *program_title(struct dialog *dialog)
{
    struct program_dialog *shown = program_of(dialog);
    if (nothing_to_show(shown, dialog->view))
        return "programs";
    snprintf(shown->title, sizeof(shown->title), "program %.60s", name_of(shown, dialog->view));
    return shown->title;
}

static void add_key(struct program_dialog *shown, enum action action, const char *words)
{
    if (*keymap_key(ui_keymap(shown->dialog.ui), action))
        strbuf_addf(&shown->footer, "%s %s   ", keymap_key(ui_keymap(shown->dialog.ui), action), words);
}

/* Adds the keys for a running program. Adds the keys of the turn if the turn decides whether it accepts input. */
static void add_live_keys(struct program_dialog *shown, const struct view *view)
{
    if (!session_program_running(view->session, shown->program))
        return;
    if (program_agent_works(view)) {
        add_key(shown, ACTION_PAUSE, action_short(ACTION_PAUSE));
    } else {
        add_key(shown, ACTION_PROMPT, "type");
        if (view->session->programs[shown->program].tty)
            add_key(shown, ACTION_PROGRAM_INTERRUPT, action_short(ACTION_PROGRAM_INTERRUPT));
    }
    add_key(shown, ACTION_PROGRAM_END, action_short(ACTION_PROGRAM_END));
    if (view->held && !view_question(view))
        add_key(shown, ACTION_CONTINUE, action_short(ACTION_CONTINUE));
}

static const char *program_footer(struct dialog *dialog)
{
    struct program_dialog *shown = program_of(dialog);
    const struct view *view = dialog->view;
    struct strbuf *out = &shown->footer;
    if (shown->typing == TYPING_SEARCH)
        return "Enter find   PgUp PgDn scroll   Esc close the search";
    if (nothing_to_show(shown, view))
        return "Esc close";
    if (shown->typing == TYPING_KEYS)
        return "Every key goes to the program   Ctrl-] stop typing";
    if (shown->typing == TYPING_INPUT)
        return view->session->programs[shown->program].tty
                   ? "Enter send the line   Ctrl-D end of input   Ctrl-C interrupt   PgUp PgDn scroll   Esc stop typing"
                   : "Enter send the line   Ctrl-D end of input   PgUp PgDn scroll   Esc stop typing";
    strbuf_reset(out);
    if (view->mode == VIEW_REPLAY)
        strbuf_addstr(out, "Space play   ");
    else
        add_live_keys(shown, view);
    if (view->session->program_count > 1)
        add_key(shown, ACTION_PANE_NEXT, "next");
    if (shown->search)
        strbuf_addf(out, "%s %s match   ", keymap_key(ui_keymap(shown->dialog.ui), ACTION_SEARCH_NEXT),
                    keymap_key(ui_keymap(shown->dialog.ui), ACTION_SEARCH_PREVIOUS));
    if (!is_full_screen(shown))
        strbuf_addstr(out, "g G PgUp PgDn scroll   ");
    if (is_full_screen(shown) ? shown->text.screen.cols > dialog->width
                              : program_lines_longest(&shown->text.screen.lines) > dialog->width)
        strbuf_addf(out, "%s %s scroll   ", keymap_key(ui_keymap(shown->dialog.ui), ACTION_LEFT),
                    keymap_key(ui_keymap(shown->dialog.ui), ACTION_RIGHT));
    add_key(shown, ACTION_SEARCH, "search");
    if (view->session->programs[shown->program].call != SESSION_NONE)
        add_key(shown, ACTION_INSPECT, "call");
    add_key(shown, ACTION_COPY, "copy");
    strbuf_addstr(out, "Esc close");
    return out->buf;
}

/* ---- searching ---- */

static void search(struct program_dialog *shown, struct ui *ui, bool back)
{
    if (!shown->search)
        return;
    if (program_lines_search(&shown->text.screen.lines, shown->search, back, &shown->hit))
        list_show(&shown->dialog.list, shown->hit, shown->dialog.height);
    else
        ui_message(ui, LOOK_WARN, "\"%.60s\" is not here.", shown->search);
}

static void type_search(struct program_dialog *shown, struct ui *ui, const struct key *key)
{
    struct input *line = &shown->search_line;
    enum input_result result = input_key(line, key);
    if (result == INPUT_DONE || result == INPUT_CLOSED)
        shown->typing = TYPING_NOT;
    if (result != INPUT_DONE)
        return;
    input_remember(line);
    free(shown->search);
    shown->search = line->text.len ? xstrdup(line->text.buf) : NULL;
    shown->hit = 0;
    search(shown, ui, true); /* start with the newest output */
}

/* ---- keys ---- */

static void copy(struct program_dialog *shown, struct ui *ui)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
    const struct program_line *line;
    if (is_full_screen(shown))
        program_screen_text(&shown->text.screen, &text);
    for (size_t i = 0; !is_full_screen(shown) && (line = program_lines_line(&shown->text.screen.lines, i)); i++) {
        strbuf_add(&text, line->text, line->len);
        strbuf_addch(&text, '\n');
    }
    ui_get_host(ui)->copy(ui_get_host(ui), text.buf ? text.buf : "", text.len);
    text_bytes(&size, text.len);
    ui_message(ui, LOOK_GOOD, "Copied the output, %s.", size.buf);
}

/* Opens the line for the shown program. Text meant for another program is in the history. */
static void begin_typing(struct program_dialog *shown, uint32_t program)
{
    shown->program = program;
    list_init(&shown->dialog.list, true);
    shown->hit = 0;
    if (shown->kept->shown != program) {
        input_remember(&shown->kept->line);
        input_set(&shown->kept->line, "");
    }
}

/* In a recording, keys that have no other meaning here control the playback. */
static bool plays(struct ui *ui, const struct view *view, const struct key *key)
{
    enum action action = view->mode == VIEW_REPLAY ? keymap_find(ui_keymap(ui), IN_REPLAY, key) : ACTION_NONE;
    if (action != ACTION_PLAY && action != ACTION_STEP_NEXT && action != ACTION_STEP_PREVIOUS &&
        action != ACTION_FASTER && action != ACTION_SLOWER)
        return false;
    ui_replay(ui, action, NULL);
    return true;
}

/* Handles a key while a line is open. False: the line does not use the key. */
static bool typed(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key,
                  enum action action)
{
    if (shown->typing == TYPING_KEYS) {
        type_key(shown, ui, view, key);
        return true;
    }
    bool types = shown->typing == TYPING_INPUT, pasting = types && shown->kept->line.pasting;
    if (action == ACTION_SUSPEND || action == ACTION_REDRAW || (action == ACTION_CANCEL && !types))
        return false;
    if (types && !pasting && (action == ACTION_CANCEL || (key->ctrl && key->code == 'c')))
        send_interrupt(shown, ui, view); /* interrupts the program, never the turn */
    else if (!pasting && dialog_pages(&shown->dialog, key, action))
        return true;
    else if (types)
        type_line(shown, ui, view, key);
    else
        type_search(shown, ui, key);
    return true;
}

/* The line may close in the middle of a paste: no character of the rest may act as a key. */
static bool rest_of_paste(struct program_dialog *shown, const struct key *key)
{
    struct input *line = &shown->kept->line;
    bool rest = line->pasting;
    if (key->code == KEYSYM_PASTE_END)
        line->pasting = false;
    return rest;
}

static struct program_dialog *shown_program(struct ui *ui)
{
    struct dialog *dialog = ui_top_dialog(ui);
    return dialog && dialog->ops == &program_ops ? program_of(dialog) : NULL;
}

void dialog_program_interrupt(struct ui *ui, const struct view *view, enum action action)
{
    struct program_dialog *shown = shown_program(ui);
    (void)action;
    if (shown && !refuses(shown, ui, view, true))
        send_interrupt(shown, ui, view);
}

static void kill_now(struct ui *ui, void *data)
{
    const struct program_dialog *shown = data; /* the dialog stays open below the confirmation */
    if (ui_submit(ui, &(struct intent){.type = INTENT_PROGRAM_KILL, .program_kill = {shown->ending}}))
        ui_message(ui, LOOK_TEXT, "Program %.40s is being killed.", shown->ending);
}

void dialog_program_end(struct ui *ui, const struct view *view, enum action action)
{
    struct program_dialog *shown = shown_program(ui);
    (void)action;
    if (!shown || refuses(shown, ui, view, false))
        return;
    CLEANUP(strbuf) struct strbuf question = STRBUF_INIT;
    const char *command = view->session->programs[shown->program].cmd;
    free(shown->ending);
    shown->ending = xstrdup(name_of(shown, view));
    strbuf_addf(&question, "Kill program %s and its children? ", shown->ending);
    text_show_cut(&question, command, strlen(command), 100);
    ui_open_dialog(ui, dialog_confirm_new(question.buf, kill_now, shown));
}

/* True if the key is for the program itself. */
static bool for_program(struct program_dialog *shown, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    enum action own = keymap_find(ui_keymap(shown->dialog.ui), IN_PROGRAM, key);
    bool acts = key->code && (action_contexts(own) & IN_PROGRAM);
    bool types = key->code && !acts && action == ACTION_PROMPT;
    if (acts)
        ui_act(ui, view, own);
    else if (types && !refuses(shown, ui, view, true))
        shown->typing = is_full_screen(shown) ? TYPING_KEYS : TYPING_INPUT;
    return acts || types;
}

static bool program_key(struct dialog *dialog, const struct key *key, enum action action)
{
    struct program_dialog *shown = program_of(dialog);
    struct ui *ui = dialog->ui;
    const struct view *view = dialog->view;
    if (nothing_to_show(shown, view))
        return false;
    mask_line(shown, view);
    if (leave_line(shown, ui, view) && !shown->kept->line.pasting)
        return true; /* the user pressed it before the change was visible */
    if (shown->typing != TYPING_NOT && key->code)
        return typed(shown, ui, view, key, action);
    if (rest_of_paste(shown, key) || too_late(shown, ui, key) || for_program(shown, ui, view, key, action))
        return true;
    uint32_t count = view->session->program_count, call = view->session->programs[shown->program].call;
    switch (action) {
    case ACTION_PANE_NEXT:
    case ACTION_PANE_PREVIOUS:
        if (count > 1)
            begin_typing(shown, (shown->program + (action == ACTION_PANE_NEXT ? 1 : count - 1)) % count);
        return true;
    case ACTION_SEARCH:
        input_set(&shown->search_line, "");
        shown->typing = TYPING_SEARCH;
        return true;
    case ACTION_SEARCH_NEXT:
    case ACTION_SEARCH_PREVIOUS:
        search(shown, ui, action == ACTION_SEARCH_PREVIOUS);
        return true;
    case ACTION_COPY:
        copy(shown, ui);
        return true;
    case ACTION_HELP:
        ui_open_dialog(ui, dialog_help_new(ui_contexts(ui, view) | IN_PROGRAM));
        return true;
    case ACTION_INSPECT:
        if (call != SESSION_NONE)
            ui_open_dialog(ui,
                           dialog_inspect_new(
                               view, (struct selection){SELECT_CALL, view->session->calls[call].responded_seq, call}));
        return true;
    case ACTION_PROGRAM: /* the key that opened it also closes it */
        ui_close_dialog(ui);
        return true;
    default:
        return plays(ui, view, key) || ui_step_key(ui, view, key) ||
               list_scroll(&dialog->list, action_list_step(action), dialog->height);
    }
}

static const struct dialog_ops program_ops = {
    .name = "program",
    .size = sizeof(struct program_dialog),
    .release = program_release,
    .place = program_place,
    .paint = program_paint,
    .key = program_key,
    .title_of = program_title,
    .footer_of = program_footer,
};

struct dialog *dialog_program_new(uint32_t program, struct program_kept *kept)
{
    struct program_dialog *shown = (struct program_dialog *)dialog_alloc(&program_ops);
    shown->kept = kept;
    program_text_init(&shown->text);
    strbuf_init(&shown->footer);
    input_init(&shown->search_line, false);
    begin_typing(shown, program);
    return &shown->dialog;
}
