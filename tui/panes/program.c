/* A program on the screen: its output and its state. */

#include "program.h"
#include "base/json.h"
#include "base/mem.h"
#include "screen/text.h"
#include "workspace/program_control.h"
#include <string.h>

#define WHY_MOST 40 /* bytes of the reason beside other texts */

void program_text_init(struct program_text *text)
{
    *text = (struct program_text){.newest = SESSION_NONE};
    program_screen_init(&text->screen);
}

void program_text_release(struct program_text *text)
{
    program_screen_release(&text->screen);
}

/* ---- output ---- */

static uint32_t newlines(const char *text)
{
    uint32_t count = 0;
    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

/* The pieces after `known`, newest first, limited to what can be shown. `before` is the piece before them. */
struct pieces {
    const struct event **items;
    size_t count, room;
    uint32_t before;
};

static struct pieces pieces_after(const struct view *view, uint32_t newest, uint32_t known)
{
    const struct session *session = view->session;
    struct pieces pieces = {0};
    uint32_t lines = 0, piece = newest;
    for (; piece != SESSION_NONE && piece != known && lines <= PROGRAM_LINES_MAX;
         piece = session->pieces[piece].before) {
        const struct event *event = view_event(view, session->pieces[piece].seq);
        if (!event)
            continue;
        GROW(pieces.items, pieces.count, pieces.room);
        pieces.items[pieces.count++] = event;
        if (event->type == EVENT_PROGRAM_OUTPUT)
            lines += newlines(event->program_output.text);
    }
    pieces.before = piece;
    return pieces;
}

/* Only a program with a terminal can paint a screen. */
static void add_piece(struct program_text *text, const struct event *event, bool tty)
{
    const char *output = event->type == EVENT_PROGRAM_OUTPUT ? event->program_output.text : NULL;
    if (output && tty)
        program_screen_print(&text->screen, output, strlen(output));
    else if (output)
        program_lines_print(&text->screen.lines, output, strlen(output));
    else if (event->type == EVENT_PROGRAM_INPUT && event->program_input.text && !tty) /* a terminal echoes it itself */
        program_lines_type(&text->screen.lines, event->program_input.text, strlen(event->program_input.text));
}

/* Guesses the terminal size of a recording, which is not recorded, from its escape sequences. A guess that is too wide
 * can be scrolled; one that is too narrow breaks lines, so prefer wide. */
static void guess_size(struct program_screen *screen, const struct pieces *pieces, bool anew, int cols)
{
    int rows = anew ? 24 : screen->rows;
    cols = anew || cols > screen->cols ? cols : screen->cols;
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->items[i]->type == EVENT_PROGRAM_OUTPUT && pieces->items[i]->program_output.text)
            program_screen_guess_size(pieces->items[i]->program_output.text,
                                      strlen(pieces->items[i]->program_output.text), &rows, &cols);
    program_screen_resize(screen, rows, cols < 80 ? 80 : cols);
}

static bool has_terminal(const struct view *view, uint32_t program)
{
    return view->mode != VIEW_REPLAY && view->programs && view->session->programs[program].tty &&
           session_program_running(view->session, program);
}

/* Sends the terminal size to a full-screen program. */
static void fit_terminal(const struct program_text *text, const struct view *view, uint32_t program)
{
    const char *name = session_name(view->session, view->session->programs[program].id);
    if (text->screen.full && has_terminal(view, program) && view->programs->resize)
        view->programs->resize(view->programs, name, text->screen.rows, text->screen.cols);
}

size_t program_text_update(struct program_text *text, const struct view *view, uint32_t program, int rows, int cols)
{
    const struct session_program *row = &view->session->programs[program];
    bool ended = !session_program_running(view->session, program);
    bool same = text->lines == view->lines && text->program == program && (ended || !text->ended);
    if (has_terminal(view, program))
        program_screen_resize(&text->screen, rows, cols);
    if (same)
        fit_terminal(text, view, program);
    if (same && text->newest == row->newest && text->ended == ended)
        return 0;
    uint64_t dropped = text->screen.lines.dropped;
    uint32_t known = same && text->newest < view->session->piece_count ? text->newest : SESSION_NONE;
    struct pieces pieces = pieces_after(view, row->newest, known);
    bool anew = known == SESSION_NONE || pieces.before != known; /* they do not follow what `screen` holds */
    bool overrun = anew && known != SESSION_NONE && row->newest != SESSION_NONE && row->newest > known;
    if (anew) {
        program_screen_reset(&text->screen);
        text->earlier = pieces.before != SESSION_NONE;
    }
    if (!has_terminal(view, program))
        guess_size(&text->screen, &pieces, anew, cols);
    while (pieces.count)
        add_piece(text, pieces.items[--pieces.count], row->tty);
    free(pieces.items);
    if (ended)
        program_screen_end(&text->screen);
    text->ended = ended;
    text->lines = view->lines;
    text->program = program;
    text->newest = row->newest;
    fit_terminal(text, view, program);
    return overrun ? SIZE_MAX : anew ? 0 : (size_t)(text->screen.lines.dropped - dropped);
}

/* ---- state kept while the dialog is closed ---- */

void program_kept_init(struct program_kept *kept)
{
    *kept = (struct program_kept){.shown = SESSION_NONE, .asked = SESSION_NONE};
    input_init(&kept->line, false);
}

void program_kept_release(struct program_kept *kept)
{
    input_release(&kept->line);
}

/* ---- choosing a program ---- */

uint32_t program_of_call(const struct view *view, uint32_t call)
{
    if (call == SESSION_NONE || !view->session->program_count)
        return SESSION_NONE;
    uint32_t row = session_program_of_call(view->session, call);
    if (row != SESSION_NONE)
        return row;
    const struct json *arguments = view_call_arguments(view, &view->session->calls[call]);
    return session_find_program(view->session, json_str(json_get(arguments, "session_id"), NULL));
}

uint32_t program_wanted(const struct view *view, uint32_t last)
{
    const struct session *session = view->session;
    uint32_t runs = SESSION_NONE;
    if (last < session->program_count && session_program_running(session, last))
        return last;
    for (uint32_t row = session->program_count; row-- > 0;) {
        if (!session_program_running(session, row))
            continue;
        if (session->programs[row].asks)
            return row;
        runs = runs == SESSION_NONE ? row : runs;
    }
    return runs != SESSION_NONE ? runs : session->program_count ? session->program_count - 1 : SESSION_NONE;
}

bool program_agent_works(const struct view *view)
{
    return view->mode != VIEW_REPLAY && session_turn_running(view->session) && !view_question(view) && !view->held;
}

bool program_hides(const struct view *view, uint32_t program)
{
    const struct session *session = view->session;
    return view->programs && session_program_running(session, program) &&
           view->programs->hides(view->programs, session_name(session, session->programs[program].id));
}

uint32_t program_call_only(const struct view *view)
{
    static const char *const tools[] = {"workspace_exec", "run_code", "skill_run"};
    const struct session *session = view->session;
    const struct session_turn *turn = session_turn(session);
    for (uint32_t i = turn ? turn->call_count : 0; i-- > 0;) {
        const struct session_call *call = &session->calls[turn->first_call + i];
        for (size_t k = 0; call->state == CALL_RUNNING && k < COUNT_OF(tools); k++)
            if (strcmp(session_name(session, call->tool), tools[k]) == 0)
                return turn->first_call + i;
    }
    return SESSION_NONE;
}

/* ---- state in words ---- */

static const char *why_of(const struct view *view, uint32_t row)
{
    const struct session_program *program = &view->session->programs[row];
    bool told = program->ended_seq && program->exit_code == EVENT_NULL_INT && program->why;
    return told ? session_name(view->session, program->why) : NULL;
}

const char *program_long_why(const struct view *view, uint32_t row)
{
    const char *why = why_of(view, row);
    return why && strlen(why) > WHY_MOST ? why : NULL;
}

void program_state(struct strbuf *out, const struct view *view, uint32_t row)
{
    const struct session_program *program = &view->session->programs[row];
    bool running = session_program_running(view->session, row);
    int64_t until = program->ended_seq ? program->ended_t : view->now_t, us;
    if (__builtin_sub_overflow(until, program->started_t, &us) || us < 0)
        us = 0;
    if (program->left) {
        strbuf_addstr(out, "running when the session ended");
        return;
    }
    if (running)
        strbuf_addstr(out, program->asks ? "waits for input " : "running ");
    else if (program->exit_code != EVENT_NULL_INT)
        strbuf_addf(out, "exit %lld after ", (long long)program->exit_code);
    else if (program_long_why(view, row) || !why_of(view, row))
        strbuf_addstr(out, "ended after ");
    else
        strbuf_addf(out, "%s after ", why_of(view, row));
    text_ms(out, us / 1000);
}

enum look program_look(const struct view *view, uint32_t row)
{
    const struct session_program *program = &view->session->programs[row];
    if (session_program_running(view->session, row))
        return program->asks ? LOOK_CALL_WAITING : LOOK_CALL_RUNNING;
    return program->ended_seq && program->exit_code == 0 ? LOOK_CALL_DONE : LOOK_CALL_FAILED;
}
