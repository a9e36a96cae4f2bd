#include "program.h"
#include "base/json.h"
#include "base/mem.h"
#include "text.h"
#include <string.h>

void program_text_init(struct program_text *text)
{
    *text = (struct program_text){.newest = SESSION_NONE};
    termtext_init(&text->text);
}

void program_text_release(struct program_text *text)
{
    termtext_release(&text->text);
}

/* ---- what it printed ---- */

static uint32_t newlines(const char *text)
{
    uint32_t count = 0;
    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

/* The pieces after `known`, newest first, and no more than can be shown; `before` is the one before them. */
struct pieces {
    uint32_t *items;
    size_t count, room;
    uint32_t before;
};

static struct pieces pieces_after(const struct view *view, uint32_t newest, uint32_t known)
{
    const struct session *session = view->session;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct pieces pieces = {0};
    uint32_t lines = 0, piece = newest;
    for (; piece != SESSION_NONE && piece != known && lines <= TERMTEXT_LINES_MAX;
         piece = session->pieces[piece].before) {
        struct event event;
        arena_reset(&arena);
        GROW(pieces.items, pieces.count, pieces.room);
        pieces.items[pieces.count++] = piece;
        if (view_event(view, session->pieces[piece].seq, &event, &arena) && event.type == EVENT_PROGRAM_OUTPUT)
            lines += newlines(event.program_output.text);
    }
    pieces.before = piece;
    return pieces;
}

static void add_piece(struct program_text *text, const struct view *view, uint32_t piece, bool tty)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    if (!view_event(view, view->session->pieces[piece].seq, &event, &arena))
        return;
    if (event.type == EVENT_PROGRAM_OUTPUT && event.program_output.text)
        termtext_print(&text->text, event.program_output.text, strlen(event.program_output.text));
    else if (event.type == EVENT_PROGRAM_INPUT && event.program_input.text && !tty) /* a terminal says it back itself */
        termtext_type(&text->text, event.program_input.text, strlen(event.program_input.text));
}

void program_text_update(struct program_text *text, const struct view *view, uint32_t program)
{
    const struct session_program *row = &view->session->programs[program];
    bool same = text->lines == view->lines && text->program == program;
    if (same && text->newest == row->newest)
        return;
    uint32_t known = same && text->newest < view->session->piece_count ? text->newest : SESSION_NONE;
    struct pieces pieces = pieces_after(view, row->newest, known);
    if (known == SESSION_NONE || pieces.before != known) { /* what is in there is not what comes before them */
        termtext_reset(&text->text);
        text->earlier = pieces.before != SESSION_NONE;
    }
    while (pieces.count)
        add_piece(text, view, pieces.items[--pieces.count], row->tty);
    free(pieces.items);
    text->lines = view->lines;
    text->program = program;
    text->newest = row->newest;
}

/* ---- which one ---- */

uint32_t program_of_call(const struct view *view, uint32_t call)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (call == SESSION_NONE || !view->session->program_count)
        return SESSION_NONE;
    uint32_t row = session_program_of_call(view->session, call);
    if (row != SESSION_NONE)
        return row;
    const struct json *arguments = view_call_arguments(view, &view->session->calls[call], &arena);
    return session_find_program(view->session, json_str(json_get(arguments, "session_id"), NULL));
}

uint32_t program_newest(const struct view *view)
{
    const struct session *session = view->session;
    for (uint32_t row = session->program_count; row-- > 0;)
        if (session_program_running(session, row))
            return row;
    return session->program_count ? session->program_count - 1 : SESSION_NONE;
}

/* ---- what there is to say ---- */

const char *program_command(const struct view *view, uint32_t program, struct arena *arena)
{
    struct event event;
    bool read = view_event(view, view->session->programs[program].started_seq, &event, arena) &&
                event.type == EVENT_PROGRAM_STARTED && event.program_started.cmd;
    return read ? event.program_started.cmd : "";
}

void program_state(struct strbuf *out, const struct view *view, uint32_t row)
{
    const struct session_program *program = &view->session->programs[row];
    bool running = session_program_running(view->session, row);
    int64_t until = program->ended_seq ? program->ended_t : view->now_t, us;
    if (__builtin_sub_overflow(until, program->started_t, &us) || us < 0)
        us = 0;
    if (program->left) {
        strbuf_addstr(out, "left when the session ended");
        return;
    }
    if (running)
        strbuf_addstr(out, program->asks ? "waits for input " : "running ");
    else if (program->exit_code != EVENT_NULL_INT)
        strbuf_addf(out, "exit %lld after ", (long long)program->exit_code);
    else
        strbuf_addf(out, "%.40s after ", program->why ? session_name(view->session, program->why) : "ended");
    text_ms(out, us / 1000);
}

enum look program_look(const struct view *view, uint32_t row)
{
    const struct session_program *program = &view->session->programs[row];
    if (session_program_running(view->session, row))
        return program->asks ? LOOK_CALL_ASKS : LOOK_CALL_RUNNING;
    return program->ended_seq && program->exit_code == 0 ? LOOK_CALL_DONE : LOOK_CALL_FAILED;
}
