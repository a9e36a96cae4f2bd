/* A program that goes on beyond its call, as its terminal would show it: what it printed, newest at the end, followed
 * until somebody scrolls. Several programs are tabs. Into one that runs a person can type while the turn is held or
 * over, and end it; a recording shows the same and can do neither. */

#include "base/mem.h"
#include "flow.h"
#include "hits.h"
#include "input.h"
#include "modal.h"
#include "program.h"
#include "text.h"
#include "ui.h"
#include "workspace/program_control.h"
#include <string.h>

#define TAB_COLS 24 /* of a program's name and command */

enum typing { TYPING_NOT, TYPING_SEARCH, TYPING_INPUT };

struct program_modal {
    struct modal modal;
    uint32_t program;
    struct program_text text;
    enum typing typing;
    struct input search_line, input_line;
    char *search;
    size_t hit;   /* the line of the hit one is at */
    char *ending; /* the program that somebody is asked about */
    char title[80];
    char footer[160];
};

static struct program_modal *program_of(struct modal *modal)
{
    return (struct program_modal *)modal;
}

static void program_release(struct modal *modal)
{
    struct program_modal *shown = program_of(modal);
    program_text_release(&shown->text);
    input_release(&shown->search_line);
    input_release(&shown->input_line);
    free(shown->search);
    free(shown->ending);
}

/* ---- painting ---- */

static struct rect program_place(struct modal *modal, const struct view *view, int rows, int cols)
{
    (void)modal;
    if (!view->session->program_count)
        return modal_center(rows, cols, 5, 72);
    return modal_center(rows, cols, rows - 4, cols >= 100 ? cols - 8 : cols - 2);
}

/* "[p1 python3 ask.py]  p2 make watch ", the one that is shown in sight. */
static void paint_tabs(struct program_modal *shown, const struct view *view, struct canvas *canvas, struct rect at)
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
static void paint_head(struct program_modal *shown, const struct view *view, struct canvas *canvas, struct rect at)
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
    if (!shown->modal.list.follow)
        strbuf_addstr(&words, " · scrolled");
    canvas_str(canvas, rect_make(at.row, at.col, 2, at.cols - 1), 1, 1, LOOK_DIM, words.buf);
}

static void paint_text(struct program_modal *shown, struct canvas *canvas, struct rect body)
{
    struct termtext *text = &shown->text.text;
    struct list *list = &shown->modal.list;
    size_t count = termtext_count(text);
    int row = 0;
    list_settle(list, count, body.rows);
    if (!count)
        canvas_str(canvas, body, 0, 0, LOOK_DIM, "It has printed nothing yet.");
    for (; row < body.rows && list->top + (size_t)row < count; row++)
        termtext_paint(text, canvas, body, row, list->left, list->top + (size_t)row);
    hits_show(canvas, body, shown->search);
}

/* Where what is older went: only there where it would be. */
static void paint_earlier(struct program_modal *shown, struct canvas *canvas, struct rect at)
{
    if (shown->modal.list.top == 0 && (shown->text.earlier || shown->text.text.dropped))
        canvas_right(canvas, at, 0, 1, LOOK_DIM, "older lines are in the events");
}

static bool no_programs(struct program_modal *shown, const struct view *view)
{
    uint32_t count = view->session->program_count;
    if (count && shown->program >= count) /* a recording went back before it began */
        shown->program = count - 1;
    return !count;
}

static void program_paint(struct modal *modal, struct ui *ui, const struct view *view, struct canvas *canvas,
                          struct rect inside)
{
    struct program_modal *shown = program_of(modal);
    (void)ui;
    if (no_programs(shown, view)) {
        flow_paint(canvas, rect_make(inside.row, inside.col, inside.rows, inside.cols - 1), 0, 1, LOOK_DIM,
                   "No program runs here. One that an agent starts in the background, or to talk with, is shown as its "
                   "terminal would show it.");
        return;
    }
    bool tabs = view->session->program_count > 1;
    int head = 3 + tabs;
    struct rect body = rect_make(inside.row + head, inside.col + 1, inside.rows - head - (shown->typing != TYPING_NOT),
                                 inside.cols - 2);
    if (body.rows < 1 || body.cols < 10)
        return;
    program_text_update(&shown->text, view, shown->program);
    modal->height = body.rows;
    modal->width = body.cols;
    if (tabs)
        paint_tabs(shown, view, canvas, rect_make(inside.row, inside.col, 1, inside.cols));
    paint_head(shown, view, canvas, rect_make(inside.row + tabs, inside.col, 2, inside.cols));
    paint_text(shown, canvas, body);
    paint_earlier(shown, canvas, rect_make(body.row - 1, inside.col, 1, inside.cols));
    struct rect line = rect_make(inside.row + inside.rows - 1, inside.col + 1, 1, inside.cols - 2);
    if (shown->typing != TYPING_NOT)
        canvas_fill(canvas, line, LOOK_INPUT);
    if (shown->typing == TYPING_SEARCH)
        input_paint(&shown->search_line, canvas, line, "/");
    else if (shown->typing == TYPING_INPUT)
        input_paint(&shown->input_line, canvas, line, "type: ");
}

static const char *program_title(struct modal *modal, const struct view *view)
{
    struct program_modal *shown = program_of(modal);
    if (no_programs(shown, view))
        return "programs";
    snprintf(shown->title, sizeof(shown->title), "program %.60s",
             session_name(view->session, view->session->programs[shown->program].id));
    return shown->title;
}

static const char *program_footer(struct modal *modal, const struct view *view)
{
    struct program_modal *shown = program_of(modal);
    if (shown->typing == TYPING_SEARCH)
        return "Enter find   PgUp PgDn scroll   Esc close the search";
    if (shown->typing == TYPING_INPUT)
        return "Enter send the line   Ctrl-D end of input   PgUp PgDn scroll   Esc stop typing";
    if (no_programs(shown, view))
        return "Esc close";
    bool live = view->mode != VIEW_REPLAY && session_program_running(view->session, shown->program);
    bool tty = view->session->programs[shown->program].tty;
    const char *first = live && tty                 ? "i type   I interrupt   x end   "
                        : live                      ? "i type   x end   "
                        : view->mode == VIEW_REPLAY ? "Space play   "
                                                    : "";
    snprintf(shown->footer, sizeof(shown->footer), "%s%sg G PgUp PgDn scroll   / search   %sY copy   Esc close", first,
             view->session->program_count > 1 ? "Tab next   " : "",
             view->session->programs[shown->program].call != SESSION_NONE ? "Enter call   " : "");
    return shown->footer;
}

/* ---- typing ---- */

static bool submit(struct ui *ui, const struct intent *intent)
{
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    if (host->submit(host, intent, &err) == 0)
        return true;
    ui_say(ui, LOOK_WARN, "%s", err.text);
    return false;
}

/* Why it can be neither typed into nor ended; NULL: it can be. */
static const char *why_not(const struct program_modal *shown, const struct view *view)
{
    if (view->mode == VIEW_REPLAY)
        return "This is a recording: the program ran then, and nobody can type into it now.";
    if (!session_program_running(view->session, shown->program))
        return "The program has ended.";
    return NULL;
}

static const char *name_of(const struct program_modal *shown, const struct view *view)
{
    return session_name(view->session, view->session->programs[shown->program].id);
}

static bool send(struct program_modal *shown, struct ui *ui, const struct view *view, const char *text)
{
    struct intent intent = {.type = INTENT_PROGRAM_INPUT, .program_input = {name_of(shown, view), text}};
    shown->modal.list.follow = true;
    return submit(ui, &intent);
}

static void send_line(struct program_modal *shown, struct ui *ui, const struct view *view)
{
    CLEANUP(free) char *line = xasprintf("%s\n", shown->input_line.text.buf ? shown->input_line.text.buf : "");
    if (!send(shown, ui, view, line))
        return; /* what was typed is still there */
    input_remember(&shown->input_line);
    input_set(&shown->input_line, "");
}

static void end_input(struct program_modal *shown, struct ui *ui, const struct view *view)
{
    if (!send(shown, ui, view, PROGRAM_INPUT_END) || view->session->programs[shown->program].tty)
        return;
    shown->typing = TYPING_NOT;
    ui_say(ui, LOOK_TEXT, "Its input has ended.");
}

static void interrupt(struct program_modal *shown, struct ui *ui, const struct view *view)
{
    if (!view->session->programs[shown->program].tty)
        ui_say(ui, LOOK_TEXT, "It has no terminal to be interrupted from; x ends it.");
    else if (send(shown, ui, view, "\x03"))
        ui_say(ui, LOOK_TEXT, "Ctrl-C was typed.");
}

static void search(struct program_modal *shown, struct ui *ui, bool back)
{
    if (!shown->search)
        return;
    if (termtext_search(&shown->text.text, shown->search, back, &shown->hit))
        list_show(&shown->modal.list, shown->hit, shown->modal.height);
    else
        ui_say(ui, LOOK_WARN, "\"%.60s\" is not here.", shown->search);
}

static void typed(struct program_modal *shown, struct ui *ui, const struct view *view, const struct key *key)
{
    bool searching = shown->typing == TYPING_SEARCH;
    struct input *line = searching ? &shown->search_line : &shown->input_line;
    if (!searching && !line->text.len && key->ctrl && key->code == 'd') {
        end_input(shown, ui, view);
        return;
    }
    switch (input_key(line, key)) {
    case INPUT_DONE:
        if (!searching) {
            send_line(shown, ui, view);
            break;
        }
        input_remember(line);
        free(shown->search);
        shown->search = line->text.len ? xstrdup(line->text.buf) : NULL;
        shown->typing = TYPING_NOT;
        shown->hit = 0;
        search(shown, ui, true); /* what was printed last is wanted first */
        break;
    case INPUT_CLOSED:
        shown->typing = TYPING_NOT;
        break;
    case INPUT_CHANGED:
    case INPUT_IGNORED:
        break;
    }
}

/* ---- ending ---- */

static void kill_now(struct ui *ui, void *data)
{
    const struct program_modal *shown = data; /* below the question all the time */
    if (submit(ui, &(struct intent){.type = INTENT_PROGRAM_KILL, .program_kill = {shown->ending}}))
        ui_say(ui, LOOK_TEXT, "Program %.40s is told to end.", shown->ending);
}

static void ask_to_kill(struct program_modal *shown, struct ui *ui, const struct view *view)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf question = STRBUF_INIT;
    strbuf_addf(&question, "End program %s and all it started? ", name_of(shown, view));
    text_show_cut(&question, program_command(view, shown->program, &arena),
                  strlen(program_command(view, shown->program, &arena)), 100);
    free(shown->ending);
    shown->ending = xstrdup(name_of(shown, view));
    ui_open_modal(ui, modal_confirm_new(question.buf, kill_now, shown));
}

/* ---- keys ---- */

static void copy(struct program_modal *shown, struct ui *ui)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf size = STRBUF_INIT;
    const struct termtext_line *line;
    for (size_t i = 0; (line = termtext_line(&shown->text.text, i)); i++) {
        strbuf_add(&text, line->text, line->len);
        strbuf_addch(&text, '\n');
    }
    ui_get_host(ui)->copy(ui_get_host(ui), text.buf ? text.buf : "", text.len);
    text_bytes(&size, text.len);
    ui_say(ui, LOOK_GOOD, "Copied what it printed, %s.", size.buf);
}

static void show(struct program_modal *shown, uint32_t program)
{
    if (program == shown->program)
        return;
    shown->program = program;
    list_init(&shown->modal.list, true);
    shown->hit = 0;
    input_set(&shown->input_line, "");
}

/* In a recording time goes on by the keys that have no other meaning here. */
static bool plays(struct ui *ui, const struct view *view, const struct key *key)
{
    enum action action = view->mode == VIEW_REPLAY ? keymap_find(ui_keymap(ui), IN_REPLAY, key) : ACTION_NONE;
    struct ui_host *host = ui_get_host(ui);
    struct err err = ERR_INIT;
    if (action != ACTION_PLAY && action != ACTION_STEP_NEXT && action != ACTION_STEP_PREVIOUS &&
        action != ACTION_FASTER && action != ACTION_SLOWER)
        return false;
    if (host->replay(host, action, NULL, &err))
        ui_say(ui, LOOK_WARN, "%s", err.text);
    return true;
}

static bool program_key(struct modal *modal, struct ui *ui, const struct view *view, const struct key *key,
                        enum action action)
{
    struct program_modal *shown = program_of(modal);
    if (no_programs(shown, view))
        return false;
    if (shown->typing != TYPING_NOT && key->code) {
        if (action == ACTION_CANCEL || action == ACTION_SUSPEND || action == ACTION_REDRAW)
            return false;
        if (!modal_pages(modal, key, action))
            typed(shown, ui, view, key);
        return true;
    }
    uint32_t count = view->session->program_count, call = view->session->programs[shown->program].call;
    bool plain = !key->ctrl && !key->alt, end = plain && key->code == 'x', interrupts = plain && key->code == 'I';
    if (action == ACTION_PROMPT || end || interrupts) {
        const char *why = why_not(shown, view);
        if (why)
            ui_say(ui, LOOK_TEXT, "%s", why);
        else if (end)
            ask_to_kill(shown, ui, view);
        else if (interrupts)
            interrupt(shown, ui, view);
        else
            shown->typing = TYPING_INPUT;
        return true;
    }
    switch (action) {
    case ACTION_PANE_NEXT:
        show(shown, (shown->program + 1) % count);
        return true;
    case ACTION_PANE_PREVIOUS:
        show(shown, (shown->program + count - 1) % count);
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
    case ACTION_INSPECT:
        if (call != SESSION_NONE)
            ui_open_modal(
                ui, modal_inspect_new(view,
                                      (struct selection){SELECT_CALL, view->session->calls[call].responded_seq, call}));
        return true;
    case ACTION_PROGRAM: /* the key that opened it closes it */
        ui_close_modal(ui);
        return true;
    default:
        return plays(ui, view, key) || list_scroll(&modal->list, action, modal->height);
    }
}

static const struct modal_ops program_ops = {
    .name = "program",
    .size = sizeof(struct program_modal),
    .release = program_release,
    .place = program_place,
    .paint = program_paint,
    .key = program_key,
    .title = program_title,
    .footer = program_footer,
};

struct modal *modal_program_new(uint32_t program)
{
    struct program_modal *shown = (struct program_modal *)modal_alloc(&program_ops);
    shown->program = program;
    program_text_init(&shown->text);
    list_init(&shown->modal.list, true);
    input_init(&shown->search_line, false);
    input_init(&shown->input_line, false);
    return &shown->modal;
}
