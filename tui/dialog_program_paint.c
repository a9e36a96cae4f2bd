/* A program on the screen, over its whole width: its name among the others, its command and how it stands, what it
 * printed, the line that is typed. What is wider than that is cut with a sign, and can be scrolled to. */

#include "base/mem.h"
#include "dialog_program.h"
#include "flow.h"
#include "hits.h"
#include "text.h"
#include "ui.h"
#include <string.h>

#define TAB_COLS 24 /* of a program's name and command */
#define WHY_ROWS 3  /* of why it ended */

struct rect program_dialog_place(struct dialog *dialog, const struct view *view, int rows, int cols)
{
    int top = view->mode == VIEW_REPLAY ? 2 : 1; /* the bar of a recording stays in sight */
    (void)dialog;
    if (!view->session->program_count)
        return dialog_center(rows, cols, 5, 72);
    return rect_make(top, 0, rows - top - 1, cols);
}

/* ---- above what it printed ---- */

/* "[p1 python3 ask.py]  p2 make watch ", the one that is shown in sight. */
static void paint_tabs(struct program_dialog *shown, const struct view *view, struct canvas *canvas, struct rect at)
{
    uint32_t count = view->session->program_count, fit = (uint32_t)(at.cols / (TAB_COLS + 3));
    fit = fit ? fit : 1;
    uint32_t first = shown->program / fit * fit;
    int col = 1;
    for (uint32_t row = first; row < count && row < first + fit; row++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        bool here = row == shown->program;
        const struct session_program *program = &view->session->programs[row];
        strbuf_addf(&words, "%s %s", session_name(view->session, program->id), program_command(view, row, &arena));
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

/* The command and how it stands; where it runs, whose it is, how much it printed. */
static void paint_head(struct program_dialog *shown, const struct view *view, struct canvas *canvas, struct rect at)
{
    const struct session *session = view->session;
    const struct session_program *program = &session->programs[shown->program];
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf state = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    struct event event;
    program_state(&state, view, shown->program);
    int right = canvas_right(canvas, at, 0, 1, program_look(view, shown->program), state.buf);
    const char *command = program_command(view, shown->program, &arena);
    canvas_str(canvas, at, 0, 1, LOOK_DIM, "$");
    struct rect room = rect_make(at.row, at.col + 3, 1, at.cols - 3 - right - 3);
    canvas_cut(canvas, room, 0, 0, LOOK_STRONG, command, strlen(command));
    if (program->call != SESSION_NONE)
        strbuf_addf(&words, "call %u · ", program->call + 1);
    if (view_event(view, program->started_seq, &event, &arena) && event.type == EVENT_PROGRAM_STARTED &&
        event.program_started.cwd && *event.program_started.cwd)
        strbuf_addf(&words, "in %s · ", event.program_started.cwd);
    strbuf_addf(&words, "%s · ", program->tty ? "terminal" : "pipes");
    text_plural(&words, (int64_t)program->lines, "line", "lines");
    if (program->inputs) {
        strbuf_addstr(&words, " · typed ");
        text_plural(&words, (int64_t)program->inputs, "time", "times");
    }
    if (!shown->dialog.list.follow)
        strbuf_addstr(&words, " · scrolled");
    canvas_str(canvas, rect_make(at.row, at.col, 2, at.cols - 1), 1, 1, LOOK_DIM, words.buf);
}

/* Why it ended, in full, where the first row has no room for it. Returns its rows. */
static int paint_why(struct program_dialog *shown, const struct view *view, struct canvas *canvas, struct rect at)
{
    const char *why = program_long_why(view, shown->program);
    if (!why)
        return 0;
    return flow_paint(canvas, rect_make(at.row, at.col, at.rows, at.cols - 1), 0, 1, program_look(view, shown->program),
                      why);
}

/* Where what is older went: only there where it would be. */
static void paint_earlier(struct program_dialog *shown, struct canvas *canvas, struct rect at)
{
    if (shown->dialog.list.top == 0 && (shown->text.earlier || shown->text.text.dropped))
        canvas_right(canvas, at, 0, 1, LOOK_DIM, "older lines are in the events");
}

/* ---- what it printed ---- */

/* Whoever scrolled away from the end stays on the lines that are there, also when older ones make room for new ones. */
static void take_in(struct program_dialog *shown, const struct view *view)
{
    size_t gone = program_text_update(&shown->text, view, shown->program);
    shown->hit -= gone < shown->hit ? gone : shown->hit;
    if (!shown->dialog.list.follow)
        list_drop(&shown->dialog.list, gone);
}

static void paint_text(struct program_dialog *shown, struct canvas *canvas, struct rect body)
{
    struct termtext *text = &shown->text.text;
    struct list *list = &shown->dialog.list;
    size_t count = termtext_count(text);
    int row = 0, beyond = termtext_longest(text) - body.cols;
    list_settle(list, count, body.rows);
    if (list->left > beyond)
        list->left = beyond > 0 ? beyond : 0;
    if (!count)
        canvas_str(canvas, body, 0, 0, LOOK_DIM, "It has printed nothing yet.");
    for (; row < body.rows && list->top + (size_t)row < count; row++)
        termtext_paint(text, canvas, body, row, list->left, list->top + (size_t)row);
    hits_show(canvas, body, shown->search);
}

static void paint_line(struct program_dialog *shown, struct canvas *canvas, struct rect at)
{
    if (shown->typing == TYPING_NOT)
        return;
    canvas_fill(canvas, at, LOOK_INPUT);
    if (shown->typing == TYPING_SEARCH)
        input_paint(&shown->search_line, canvas, at, "/");
    else
        input_paint(&shown->kept->line, canvas, at, shown->kept->line.masked ? "type unseen: " : "type: ");
}

static void paint_none(const struct view *view, struct canvas *canvas, struct rect inside)
{
    struct rect room = rect_make(inside.row, inside.col, inside.rows, inside.cols - 1);
    uint32_t call = program_call_only(view);
    if (call == SESSION_NONE) {
        flow_paint(canvas, room, 0, 1, LOOK_DIM,
                   "No program runs here. One that an agent starts in the background, or to talk with, is shown as its "
                   "terminal would show it.");
        return;
    }
    CLEANUP(free)
    char *words = xasprintf("Call %u runs a command that ends with its call: nobody can type into it. Enter "
                            "on its row in the tools shows what it prints.",
                            call + 1);
    flow_paint(canvas, room, 0, 1, LOOK_TEXT, words);
}

void program_dialog_paint(struct dialog *dialog, struct ui *ui, const struct view *view, struct canvas *canvas,
                          struct rect inside)
{
    struct program_dialog *shown = program_of(dialog);
    if (program_dialog_empty(shown, view)) {
        paint_none(view, canvas, inside);
        return;
    }
    program_dialog_mask(shown, view);
    program_dialog_leave(shown, ui, view);
    int tabs = view->session->program_count > 1;
    int typing = shown->typing != TYPING_NOT;
    int why = paint_why(shown, view, canvas, rect_make(inside.row + tabs + 2, inside.col, WHY_ROWS, inside.cols));
    int head = tabs + 2 + why + 1;
    struct rect body = rect_make(inside.row + head, inside.col + 1, inside.rows - head - typing, inside.cols - 1);
    if (body.rows < 1 || body.cols < 10)
        return;
    take_in(shown, view);
    dialog->height = body.rows;
    dialog->width = body.cols;
    if (tabs)
        paint_tabs(shown, view, canvas, rect_make(inside.row, inside.col, 1, inside.cols));
    paint_head(shown, view, canvas, rect_make(inside.row + tabs, inside.col, 2, inside.cols));
    paint_text(shown, canvas, body);
    paint_earlier(shown, canvas, rect_make(body.row - 1, inside.col, 1, inside.cols));
    paint_line(shown, canvas, rect_make(inside.row + inside.rows - 1, inside.col + 1, 1, inside.cols - 2));
}

/* ---- around it ---- */

const char *program_dialog_title(struct dialog *dialog, const struct view *view)
{
    struct program_dialog *shown = program_of(dialog);
    if (program_dialog_empty(shown, view))
        return "programs";
    snprintf(shown->title, sizeof(shown->title), "program %.60s", program_dialog_name(shown, view));
    return shown->title;
}

static void add_key(struct program_dialog *shown, enum action action, const char *words)
{
    if (*keymap_key(ui_keymap(shown->dialog.ui), action))
        strbuf_addf(&shown->footer, "%s %s   ", keymap_key(ui_keymap(shown->dialog.ui), action), words);
}

/* What can be done with one that runs; the turn's keys where they decide whether it can be typed into. */
static void add_live_keys(struct program_dialog *shown, const struct view *view)
{
    if (!session_program_running(view->session, shown->program))
        return;
    if (program_agent_works(view)) {
        add_key(shown, ACTION_PAUSE, "hold");
    } else {
        add_key(shown, ACTION_PROMPT, "type");
        if (view->session->programs[shown->program].tty)
            add_key(shown, ACTION_PROGRAM_INTERRUPT, action_short(ACTION_PROGRAM_INTERRUPT));
    }
    add_key(shown, ACTION_PROGRAM_END, action_short(ACTION_PROGRAM_END));
    if (view->held && !view->question)
        add_key(shown, ACTION_CONTINUE, "go on");
}

static const char *typing_footer(const struct program_dialog *shown, const struct view *view)
{
    return view->session->programs[shown->program].tty
               ? "Enter send the line   Ctrl-D end of input   Ctrl-C interrupt   PgUp PgDn scroll   Esc stop typing"
               : "Enter send the line   Ctrl-D end of input   PgUp PgDn scroll   Esc stop typing";
}

const char *program_dialog_footer(struct dialog *dialog, const struct view *view)
{
    struct program_dialog *shown = program_of(dialog);
    struct strbuf *out = &shown->footer;
    if (shown->typing == TYPING_SEARCH)
        return "Enter find   PgUp PgDn scroll   Esc close the search";
    if (program_dialog_empty(shown, view))
        return "Esc close";
    if (shown->typing == TYPING_INPUT)
        return typing_footer(shown, view);
    strbuf_reset(out);
    if (view->mode == VIEW_REPLAY)
        strbuf_addstr(out, "Space play   ");
    else
        add_live_keys(shown, view);
    if (view->session->program_count > 1)
        add_key(shown, ACTION_PANE_NEXT, "next");
    if (shown->search)
        strbuf_addf(out, "%s %s hits   ", keymap_key(ui_keymap(shown->dialog.ui), ACTION_SEARCH_NEXT),
                    keymap_key(ui_keymap(shown->dialog.ui), ACTION_SEARCH_PREVIOUS));
    strbuf_addstr(out, "g G PgUp PgDn scroll   ");
    if (termtext_longest(&shown->text.text) > dialog->width)
        strbuf_addf(out, "%s %s sideways   ", keymap_key(ui_keymap(shown->dialog.ui), ACTION_LEFT),
                    keymap_key(ui_keymap(shown->dialog.ui), ACTION_RIGHT));
    add_key(shown, ACTION_SEARCH, "search");
    if (view->session->programs[shown->program].call != SESSION_NONE)
        add_key(shown, ACTION_INSPECT, "call");
    add_key(shown, ACTION_COPY, "copy");
    strbuf_addstr(out, "Esc close");
    return out->buf;
}
