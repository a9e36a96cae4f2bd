/* A program and its lines. It may be freed by whoever hears of its end. */

#include "program_session.h"
#include "base/loop.h"
#include "base/mem.h"
#include "programs_inside.h"
#include <stdio.h>

struct program_session {
    struct programs *programs;
    struct program *program; /* NULL: it is gone */
    struct session_lines lines;
    struct program_result result; /* when it is gone */
    void (*ended)(void *user);
    void *user;
    char id[40];
    struct loop_timer look;
    struct session_waiter waiter;
    void (*waited)(void *user, struct session_seen *seen);
    void *waited_user;
    bool closed, tty;
};

/* ---- waiting ---- */

static void on_look(struct loop_timer *timer);

/* Looks, and tells or looks again later. The session may be gone afterwards. */
static void look(struct program_session *session)
{
    struct loop *loop = session->programs->loop;
    if (!session->waited)
        return;
    if (!session_waiter_look(&session->waiter, &session->lines, loop_now_us(loop))) {
        loop_timer_start(loop, &session->look, loop_now_us(loop) + SESSION_POLL_MS * 1000, on_look);
        return;
    }
    struct session_waiter waiter = session->waiter;
    void (*waited)(void *user, struct session_seen *seen) = session->waited;
    session->waited = NULL;
    loop_timer_stop(loop, &session->look);
    waited(session->waited_user, &waiter.seen);
    session_waiter_release(&waiter);
}

static void on_look(struct loop_timer *timer)
{
    look(CONTAINER_OF(timer, struct program_session, look));
}

void program_session_wait(struct program_session *session, int64_t yield_ms, size_t limit,
                          void (*done)(void *user, struct session_seen *seen), void *user)
{
    struct loop *loop = session->programs->loop;
    if (session->waited)
        BUG("two wait for one session");
    session_waiter_begin(&session->waiter, loop_now_us(loop), yield_ms, limit);
    session->waiter.seen.window.offset = session->lines.cursor;
    session->waited = done;
    session->waited_user = user;
    loop_timer_start(loop, &session->look, loop_now_us(loop), on_look);
}

void program_session_wait_end(struct program_session *session)
{
    if (!session->waited)
        return;
    session->waited = NULL;
    loop_timer_stop(session->programs->loop, &session->look);
    session->lines.cursor = session->waiter.seen.window.offset;
    session_waiter_release(&session->waiter);
}

/* ---- its program ---- */

static void session_ended(void *user, struct program_result *take_result)
{
    struct program_session *session = user;
    struct loop *loop = session->programs->loop;
    session->program = NULL;
    session->result = *take_result;
    session->result.end.left = session->result.left;
    session_lines_end(&session->lines, session->result.end.exit_code);
    if (session->waited)
        loop_timer_start(loop, &session->look, loop_now_us(loop), on_look);
    if (session->ended)
        session->ended(session->user);
}

struct program_session *program_session_start(struct programs *programs, struct workspace *ws,
                                              const struct program_spec *spec, void (*ended)(void *user), void *user,
                                              struct err *err)
{
    struct program_spec own = *spec;
    struct program_session *session = xcalloc(1, sizeof(*session));
    *session = (struct program_session){.programs = programs, .tty = spec->tty, .ended = ended, .user = user};
    session_lines_init(&session->lines, SESSION_LINES_MAX);
    own.keep_input = true;
    own.prints.lines = &session->lines;
    session->program = program_run(programs, ws, &own, session_ended, session, err);
    snprintf(session->id, sizeof(session->id), "p%u", programs->started);
    if (!session->program) {
        program_session_free(session);
        return NULL;
    }
    return session;
}

/* ---- for whoever holds it ---- */

/* NULL: it has ended. */
static struct process *process_of(const struct program_session *session)
{
    return session->program ? program_process(session->program) : NULL;
}

const char *program_session_id(const struct program_session *session)
{
    return session->id;
}

const struct session_lines *program_session_lines(const struct program_session *session)
{
    return &session->lines;
}

bool program_session_exited(const struct program_session *session)
{
    return session->lines.exited;
}

const struct process_end *program_session_end(const struct program_session *session)
{
    return &session->result.end;
}

const struct strbuf *program_session_stream(const struct program_session *session, enum process_stream stream)
{
    const struct program_result *result = session->program ? program_printed(session->program) : &session->result;
    return stream == PROCESS_STDERR ? &result->err : &result->out;
}

struct session_window program_session_poll(struct program_session *session, size_t limit, struct strbuf *out)
{
    return session_lines_poll(&session->lines, limit, out);
}

int program_session_ready(const struct program_session *session, struct err *err)
{
    struct process *process = process_of(session);
    if (session->lines.exited || !session->program)
        return err_set(err, "session is not running");
    if (session->closed)
        return err_set(err, "stdin is not available");
    size_t unread = process ? process_unread(process) : 0;
    if (unread > PROGRAM_UNREAD_MAX)
        return err_set(err, "the program does not read what is typed: %zu bytes wait for it", unread);
    return 0;
}

int program_session_write(struct program_session *session, const char *text, size_t len, bool newline, struct err *err)
{
    struct process *process = process_of(session);
    if (!len && !newline)
        return 0;
    if (program_session_ready(session, err))
        return -1;
    if (process)
        process_write(process, text, len);
    if (process && newline)
        process_write(process, "\n", 1);
    return 0;
}

void program_session_kill(struct program_session *session, int64_t grace_ms)
{
    struct process *process = process_of(session);
    if (process)
        process_kill(process, grace_ms);
}

static void close_input(struct program_session *session)
{
    struct process *process = process_of(session);
    if (process)
        process_close_input(process);
}

void program_session_close(struct program_session *session)
{
    if (session->closed)
        return;
    session->closed = true;
    close_input(session);
}

void program_session_end_input(struct program_session *session)
{
    if (session->tty)
        close_input(session);
    else
        program_session_close(session);
}

bool program_session_closed(const struct program_session *session)
{
    return session->closed;
}

bool program_session_hides_input(const struct program_session *session)
{
    struct process *process = process_of(session);
    return process && process_hides_input(process);
}

void program_session_free(struct program_session *session)
{
    if (!session)
        return;
    program_session_wait_end(session);
    program_free(session->program);
    session_lines_release(&session->lines);
    program_result_release(&session->result);
    free(session);
}
