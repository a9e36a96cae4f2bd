/* An interactive program and the lines it printed (running_program.h). The receiver of its end may free it. */

#include "running_program.h"
#include "base/loop.h"
#include "base/mem.h"
#include "programs_internal.h"
#include <stdio.h>

struct running_program {
    struct programs *programs;
    struct program *program; /* NULL: ended */
    struct output_lines lines;
    struct program_result result; /* set after the end */
    void (*ended)(void *user);
    void *user;
    char id[40];
    struct loop_timer look;
    struct output_wait waiter;
    void (*waited)(void *user, struct output_seen *seen);
    void *waited_user;
    bool closed, tty;
};

/* ---- waiting ---- */

static void on_look(struct loop_timer *timer);

/* Looks, then reports or looks again later. The session may be freed afterwards. */
static void look_at_output(struct running_program *session)
{
    struct loop *loop = session->programs->loop;
    if (!session->waited)
        return;
    if (!output_wait_look(&session->waiter, &session->lines, loop_now_us(loop))) {
        loop_timer_start(loop, &session->look, loop_now_us(loop) + OUTPUT_POLL_MS * 1000, on_look);
        return;
    }
    struct output_wait waiter = session->waiter;
    void (*waited)(void *user, struct output_seen *seen) = session->waited;
    session->waited = NULL;
    loop_timer_stop(loop, &session->look);
    waited(session->waited_user, &waiter.seen);
    output_wait_release(&waiter);
}

static void on_look(struct loop_timer *timer)
{
    look_at_output(CONTAINER_OF(timer, struct running_program, look));
}

void running_program_wait(struct running_program *session, int64_t yield_ms, size_t limit,
                          void (*done)(void *user, struct output_seen *seen), void *user)
{
    struct loop *loop = session->programs->loop;
    if (session->waited)
        BUG("two calls wait for one session");
    output_wait_begin(&session->waiter, loop_now_us(loop), yield_ms, limit);
    session->waiter.seen.window.offset = session->lines.cursor;
    session->waited = done;
    session->waited_user = user;
    loop_timer_start(loop, &session->look, loop_now_us(loop), on_look);
}

void running_program_wait_end(struct running_program *session)
{
    if (!session->waited)
        return;
    session->waited = NULL;
    loop_timer_stop(session->programs->loop, &session->look);
    session->lines.cursor = session->waiter.seen.window.offset;
    output_wait_release(&session->waiter);
}

/* ---- its program ---- */

static void session_ended(void *user, struct program_result *take_result)
{
    struct running_program *session = user;
    struct loop *loop = session->programs->loop;
    session->program = NULL;
    session->result = *take_result;
    session->result.end.left = session->result.left;
    output_lines_end(&session->lines, session->result.end.exit_code);
    if (session->waited)
        loop_timer_start(loop, &session->look, loop_now_us(loop), on_look);
    if (session->ended)
        session->ended(session->user);
}

struct running_program *running_program_start(struct programs *programs, struct workspace *ws,
                                              const struct program_spec *spec, void (*ended)(void *user), void *user,
                                              struct err *err)
{
    struct program_spec own = *spec;
    struct running_program *session = xcalloc(1, sizeof(*session));
    *session = (struct running_program){.programs = programs, .tty = spec->tty, .ended = ended, .user = user};
    output_lines_init(&session->lines, OUTPUT_LINES_MAX);
    own.keep_input = true;
    own.prints.lines = &session->lines;
    session->program = program_run(programs, ws, &own, session_ended, session, err);
    snprintf(session->id, sizeof(session->id), "p%u", programs->started);
    if (!session->program) {
        running_program_free(session);
        return NULL;
    }
    return session;
}

/* ---- for the holder ---- */

/* NULL: ended. */
static struct process *process_of(const struct running_program *session)
{
    return session->program ? program_process(session->program) : NULL;
}

const char *running_program_id(const struct running_program *session)
{
    return session->id;
}

const struct output_lines *running_program_lines(const struct running_program *session)
{
    return &session->lines;
}

bool running_program_exited(const struct running_program *session)
{
    return session->lines.exited;
}

const struct process_end *running_program_end(const struct running_program *session)
{
    return &session->result.end;
}

const struct strbuf *running_program_stream(const struct running_program *session, enum process_stream stream)
{
    const struct program_result *result = session->program ? program_printed(session->program) : &session->result;
    return stream == PROCESS_STDERR ? &result->err : &result->out;
}

struct line_range running_program_poll(struct running_program *session, size_t limit, struct strbuf *out)
{
    return output_lines_poll(&session->lines, limit, out);
}

int running_program_ready(const struct running_program *session, struct err *err)
{
    struct process *process = process_of(session);
    if (session->lines.exited || !session->program)
        return err_set(err, "session is not running");
    if (session->closed)
        return err_set(err, "stdin is not available");
    size_t unread = process ? process_unread(process) : 0;
    if (unread > PROGRAM_UNREAD_MAX)
        return err_set(err, "the program does not read its input (%zu bytes pending)", unread);
    return 0;
}

int running_program_write(struct running_program *session, const char *text, size_t len, bool newline, struct err *err)
{
    struct process *process = process_of(session);
    if (!len && !newline)
        return 0;
    if (running_program_ready(session, err))
        return -1;
    if (process)
        process_write(process, text, len);
    if (process && newline)
        process_write(process, "\n", 1);
    return 0;
}

void running_program_kill(struct running_program *session, int64_t grace_ms)
{
    struct process *process = process_of(session);
    if (process)
        process_kill(process, grace_ms);
}

static void close_input(struct running_program *session)
{
    struct process *process = process_of(session);
    if (process)
        process_close_input(process);
}

void running_program_close(struct running_program *session)
{
    if (session->closed)
        return;
    session->closed = true;
    close_input(session);
}

void running_program_end_input(struct running_program *session)
{
    if (session->tty)
        close_input(session);
    else
        running_program_close(session);
}

bool running_program_closed(const struct running_program *session)
{
    return session->closed;
}

bool running_program_hides_input(const struct running_program *session)
{
    struct process *process = process_of(session);
    return process && process_hides_input(process);
}

void running_program_resize(struct running_program *session, int rows, int cols)
{
    struct process *process = process_of(session);
    if (process)
        process_resize(process, rows, cols);
}

void running_program_free(struct running_program *session)
{
    if (!session)
        return;
    running_program_wait_end(session);
    program_free(session->program);
    output_lines_release(&session->lines);
    program_result_release(&session->result);
    free(session);
}
