/* A program goes through running, ending (asked, then killed) and over. Between us and it stand the engine's process
 * and keyturn-launch: the exit of the first is when it is over, the lines of the second say how.
 *
 * Until keyturn-launch's mark on standard error only the engine can have complained; one that fails before it is no end
 * of the program, which never ran. Where there is no line to keyturn-launch, that mark says that it began, and its last
 * words there how it ended. */

#include "program.h"
#include "base/beneath.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/launcher.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "disk_watch.h"
#include "guard.h"
#include "launch_words.h"
#include "program_bounds.h"
#include "program_filter.h"
#include "program_network.h"
#include "program_rest.h"
#include "program_vector.h"
#include "programs_inside.h"
#include "sandbox/cgroup.h"
#include "sandbox/complaints.h"
#include "sandbox/engines_etc.h"
#include "sandbox/engines_program.h"
#include "workspace.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CONTROL_LINE_MAX 512u
#define STOP_LIMIT_MS    10000u
#define SETTLE_US        3000000 /* for the engine's process, after everything was killed */

struct program {
    struct programs *programs;
    struct program *next, **place; /* of those that run */
    struct program_listener listener;
    struct program_vector vector;
    struct child *proc, *guard;
    struct cgroup *cgroup;
    struct rest_hunt *hunt;          /* under way for what it left */
    struct program_network *network; /* NULL: it has none */
    struct span span;
    struct loop_timer limit;
    struct loop_task telling;
    struct disk_watch *disk; /* NULL: it is not limited */
    struct lines control;
    struct launch_words words; /* on the stream that the engine may complain on */
    struct program_left left[PROGRAM_LEFT_MAX];
    struct program_end end;
    char *why, *input;
    char *full;   /* what was said of a workspace that is */
    char *around; /* the folder that the engine is started in */
    size_t input_len;
    int64_t began_us, until_us, grace_ms;
    int status, signum; /* of its process */
    bool keep_input, asked, killed, began, told_end, over, again;
};

/* ---- the list of those that run ---- */

static void join(struct program *program)
{
    program->next = program->programs->running;
    program->place = &program->programs->running;
    if (program->next)
        program->next->place = &program->next;
    *program->place = program;
}

static void leave(struct program *program)
{
    if (!program->place)
        return;
    *program->place = program->next;
    if (program->next)
        program->next->place = program->place;
    program->place = NULL;
}

static void forget(struct program *program)
{
    guard_dismiss(program->guard);
    program_network_free(program->network);
    disk_watch_free(program->disk);
    rest_hunt_leave(program->hunt, program->cgroup);
    program_vector_release(&program->vector);
    launch_words_release(&program->words);
    lines_release(&program->control);
    free(program->why);
    free(program->input);
    free(program->full);
    free(program->around);
    free(program);
}

/* ---- the end ---- */

/* It may have ended by itself before it could be killed for that. */
static void blame_disk(struct program *program)
{
    if (program->full && !program->why)
        program->why =
            xasprintf("%s%s", program->killed && program->end.exit_code < 0 ? "it was killed: " : "", program->full);
}

static void tell(struct program *program)
{
    struct err own = ERR_INIT;
    struct program_end *end = &program->end;
    blame_disk(program);
    end->duration_ms = (loop_now_us(program->programs->loop) - program->began_us) / 1000;
    end->left = program->left;
    end->why = program->why;
    json_add_int(&program->span.attrs, SPAN_EXIT_CODE, end->exit_code);
    json_add_bool(&program->span.attrs, SPAN_TIMED_OUT, end->timed_out);
    err_set(&own, "%s", program->why ? program->why : "");
    leave(program);
    span_end(&program->span, program->why ? -1 : 0, &own, NULL);
    program->listener.ended(program->listener.user, end);
}

static void on_over(struct loop_task *task)
{
    tell(CONTAINER_OF(task, struct program, telling));
}

/* The workspace holds more than it may; a cause that was there before stays. */
static void say_full(struct program *program, const char *why)
{
    program->end.over_disk = true;
    if (!program->why && !program->full)
        program->full = xstrdup(why);
}

static void on_counted(void *user, const char *why)
{
    struct program *program = user;
    if (why)
        say_full(program, why);
    tell(program);
}

static void be_over(struct program *program)
{
    if (program->over)
        return;
    program->over = true;
    guard_dismiss(steal(&program->guard));
    program_network_free(steal(&program->network));
    loop_timer_stop(program->programs->loop, &program->limit);
    cgroup_free(program->cgroup);
    program->cgroup = NULL;
    if (program->disk)
        disk_watch_finish(program->disk);
    else
        loop_post(program->programs->loop, &program->telling, on_over);
}

static void cannot_start(struct program *program, const char *reason)
{
    free(program->why);
    program->why = *program->vector.argv[0] ? xasprintf("cannot start %s: %s", program->vector.argv[0], reason)
                                            : xstrdup("there is no program to start");
    program->end.exit_code = -1;
    program->told_end = true;
}

/* What the engine said is why; it is no output of the program's. */
static void engine_failed(struct program *program, int status, int signum)
{
    const struct sandbox_engine *engine = program->vector.engine;
    const char *said = program->words.said.buf;
    const char *image = sandbox_engine_uses(engine, "image") ? program->programs->image : NULL;
    CLEANUP(free) char *line = complaints_line(said, program->words.said.len);
    CLEANUP(free) char *cause = complaints_cause(said, image ? image : BOX_IMAGE);
    free(program->why);
    program->why = xasprintf("the sandbox %s failed (%s %d)%s%s%s%s", engine->name, signum ? "signal" : "status",
                             signum ? signum : status, cause || line ? ": " : "", cause ? cause : "",
                             cause && line ? ": " : "", line ? line : "");
    program->end.exit_code = -1;
    program->end.no_engine = !program->began;
    strbuf_reset(&program->words.said);
}

/* It may live on without what was killed of it, and end well. */
static void blame_limits(struct program *program)
{
    const struct program_vector *vector = &program->vector;
    if (program->why || (program->told_end && program->end.exit_code == 0))
        return;
    if (cgroup_ran_out(program->cgroup))
        program->why = xasprintf("it was killed: it used more than %u MB of memory", vector->memory_mb);
    else if (vector->cpu_s && program->end.signum == SIGXCPU)
        program->why = xasprintf("it was killed: it used more than %u s of processor time", vector->cpu_s);
    else if (vector->files_mb && program->end.signum == SIGXFSZ)
        program->why = xasprintf("it was killed: it wrote a file of more than %u MB", vector->files_mb);
}

static void add_left(struct program *program, const struct program_left *left)
{
    struct program_end *end = &program->end;
    end->survivors += left->survived;
    for (size_t i = 0; i < end->left_count; i++)
        if (program->left[i].pid == left->pid) {
            program->left[i].survived = left->survived;
            return;
        }
    if (end->left_count < PROGRAM_LEFT_MAX)
        program->left[end->left_count++] = *left;
}

static void take_exit(struct program *program);

static void on_rest_killed(void *user, const struct program_left *left, size_t count)
{
    struct program *program = user;
    program->hunt = NULL;
    for (size_t i = 0; i < count; i++)
        add_left(program, &left[i]);
    if (program->proc)
        child_kill(program->proc, SIGKILL);
    else
        take_exit(program);
}

/* Where nothing is around it, it can kill or stop keyturn-launch, who then ends nothing of it. False: something is. */
static bool end_rest(struct program *program, int launcher)
{
    struct program_rest rest = {.launcher = launcher, .name = program->vector.name, .cgroup = program->cgroup};
    if (!program->vector.engine->unsafe)
        return false;
    if (!program->hunt)
        program->hunt = rest_hunt_start(program->programs->loop, &rest, on_rest_killed, program);
    return true;
}

/* ---- what keyturn-launch says ---- */

static void hear_left(struct program *program, const char *text, bool survived)
{
    struct program_left left = {.survived = survived};
    if (sscanf(text, "%d %16s", &left.pid, left.name) == 2)
        add_left(program, &left);
}

/* What an engine says before it is tried again is not the program's. */
static bool may_try_again(const struct program *program)
{
    return program->vector.engine->retry && !program->again && !program->programs->again && !program->programs->works;
}

/* Where complaints are heard: a terminal has one stream. */
static enum program_stream complaining(const struct program *program)
{
    return program->vector.tty ? PROGRAM_STDOUT : PROGRAM_STDERR;
}

/* Of a program that runs all the same few want to hear it. */
static void tell_complaints(struct program *program)
{
    const struct programs *programs = program->programs;
    CLEANUP(free) char *line = complaints_line(program->words.said.buf, program->words.said.len);
    if (line && programs->engine_says)
        programs->engine_says(programs->engine_user, line);
    else if (line)
        log_info("the sandbox %s says: %s", program->vector.engine->name, line);
    strbuf_reset(&program->words.said);
}

static void begin(struct program *program)
{
    program->began = program->programs->works = true;
}

static void hear(struct program *program, const char *line)
{
    int number;
    if (strcmp(line, "started") == 0)
        begin(program);
    else if (strncmp(line, "left ", 5) == 0)
        hear_left(program, line + 5, false);
    else if (strncmp(line, "survivor ", 9) == 0)
        hear_left(program, line + 9, true);
    else if (sscanf(line, "crowd %d", &number) == 1 && !program->why)
        program->why = xasprintf("it was killed: it made more than %d processes", number);
    else if (sscanf(line, "memory %d", &number) == 1 && !program->why)
        program->why = xasprintf("it was killed: it used more than %u MB of memory (%d MB when seen)",
                                 program->vector.memory_mb, number);
    else if (strcmp(line, "unseen") == 0 && !program->why)
        program->why = xstrdup("it was killed: its memory could not be watched any more");
    else if (sscanf(line, "error %d", &number) == 1) {
        begin(program);
        cannot_start(program, strerror(number));
    } else if (sscanf(line, "exit %d", &number) == 1 || sscanf(line, "signal %d", &number) == 1) {
        program->told_end = true;
        program->end.exit_code = line[0] == 'e' ? number : -1;
        program->end.signum = line[0] == 'e' ? 0 : number;
    }
}

static bool on_line(void *user, const char *text, size_t len)
{
    CLEANUP(free) char *line = xmemdup0(text, len);
    hear(user, line);
    return true;
}

static void on_control(void *data, const char *bytes, size_t len)
{
    struct program *program = data;
    lines_feed(&program->control, bytes, len, on_line, program);
}

static void on_socket(void *data, int fd)
{
    struct program *program = data;
    program_network_take(program->network, fd);
}

/* ---- its process ---- */

static void give_words(void *user, const char *bytes, size_t len)
{
    struct program *program = user;
    program->listener.output(program->listener.user, complaining(program), bytes, len);
}

static void hear_words(void *user, const char *line)
{
    hear(user, line);
}

static void receive(struct program *program, enum program_stream stream, const char *bytes, size_t len)
{
    bool marked = program->words.marked;
    if (!len)
        return;
    if (stream != complaining(program)) {
        program->listener.output(program->listener.user, stream, bytes, len);
        return;
    }
    launch_words_feed(&program->words, bytes, len);
    if (marked || !program->words.marked)
        return;
    tell_complaints(program);
    if (program->words.last)
        begin(program);
}

static void on_stdout(void *data, const char *bytes, size_t len)
{
    receive(data, PROGRAM_STDOUT, bytes, len);
}

static void on_stderr(void *data, const char *bytes, size_t len)
{
    receive(data, PROGRAM_STDERR, bytes, len);
}

static int launch(struct program *program, struct err *err);

static void on_exit_(void *data, int status, int signum)
{
    struct program *program = data;
    struct err err = ERR_INIT;
    const struct sandbox_engine *engine = program->vector.engine;
    child_free(program->proc);
    program->proc = NULL;
    launch_words_end(&program->words, hear_words);
    if (!program->told_end && may_try_again(program) && strstr(program->words.said.buf, engine->retry_on)) {
        program->again = program->programs->again = true;
        strbuf_reset(&program->words.said);
        if (launch(program, &err) == 0)
            return;
        cannot_start(program, err.text);
    }
    blame_limits(program);
    program->status = status;
    program->signum = signum;
    if (program->told_end ? !program->hunt : !end_rest(program, 0))
        take_exit(program);
}

/* Its process and everything of it is gone. */
static void take_exit(struct program *program)
{
    const struct sandbox_engine *engine = program->vector.engine;
    int status = program->status, signum = program->signum;
    if (!program->told_end) {
        program->end.exit_code = -1;
        program->end.signum = signum || engine->program->control || status <= 128 ? signum : status - 128;
        if (!program->asked && !program->killed && !program->why && (!program->began || engine->program->control))
            engine_failed(program, status, signum);
    }
    if (program->began && !program->words.marked)
        launch_words_give_up(&program->words);
    else
        tell_complaints(program);
    be_over(program);
}

/* ---- asking and killing ---- */

static void ask_outside(struct program *program, bool kill)
{
    char **argv = sandbox_program_ask(&program->vector, kill);
    char **env = sandbox_program_env(&(struct program_vector){.engine = program->vector.engine});
    if (argv)
        child_run_aside(program->programs->loop, (const char *const *)argv, (const char *const *)env, STOP_LIMIT_MS);
    argv_free(argv);
    argv_free(env);
}

static void ask(struct program *program, char letter)
{
    if (program->vector.engine->unsafe)
        child_kill(program->proc, SIGCONT); /* who is stopped hears nothing */
    if (program->vector.engine->program->control)
        child_write_control(program->proc, &letter, 1);
    else
        ask_outside(program, letter == LAUNCH_KILL);
}

static void on_settled(struct loop_timer *timer)
{
    struct program *program = CONTAINER_OF(timer, struct program, limit);
    ask_outside(program, true);
    if (!end_rest(program, child_pid(program->proc)))
        child_kill(program->proc, SIGKILL);
}

static void kill_now(struct program *program)
{
    struct loop *loop = program->programs->loop;
    program->killed = program->end.forced = true;
    ask(program, LAUNCH_KILL);
    loop_timer_start(loop, &program->limit, loop_now_us(loop) + SETTLE_US, on_settled);
}

static void on_full(void *user, const char *why)
{
    struct program *program = user;
    if (program->over || program->killed)
        return;
    say_full(program, why);
    kill_now(program);
}

static void on_limit(struct loop_timer *timer)
{
    struct program *program = CONTAINER_OF(timer, struct program, limit);
    program->end.timed_out = program->end.timed_out || !program->asked;
    kill_now(program);
}

void program_kill(struct program *program, int64_t grace_ms)
{
    struct loop *loop = program->programs->loop;
    if (program->over || program->asked || program->killed)
        return;
    program->asked = true;
    if (grace_ms <= 0) {
        kill_now(program);
        return;
    }
    program->end.asked = true;
    ask(program, LAUNCH_ASK);
    loop_timer_start(loop, &program->limit, loop_now_us(loop) + grace_ms * 1000, on_limit);
}

/* ---- starting ---- */

static int launch(struct program *program, struct err *err)
{
    const struct sandbox_program *engine = program->vector.engine->program;
    struct engines_etc etc = {0};
    int filter = program_filter_open(&program->vector, program->cgroup, err);
    if (filter < 0 || engines_etc_open(&etc, program->vector.engine, err)) {
        program_filter_close(&program->vector, filter);
        return -1;
    }
    char **argv = program_engine_argv(&program->vector, program->again || program->programs->again, err);
    char **env = sandbox_program_env(&program->vector);
    int handed[1 + COUNT_OF(etc.fds)] = {filter};
    memcpy(handed + 1, etc.fds, sizeof(etc.fds));
    struct child_options options = {.argv = (const char *const *)argv,
                                    .env = (const char *const *)env,
                                    .cwd = program->around,
                                    .want_stdin = program->input || program->keep_input,
                                    .tty = program->vector.tty,
                                    .on_stdout = on_stdout,
                                    .on_stderr = on_stderr,
                                    .calm_after = PROGRAM_CALM_AFTER,
                                    .on_control = engine->control ? on_control : NULL,
                                    .on_socket = program->network ? on_socket : NULL,
                                    .join = cgroup_join(program->cgroup),
                                    .hand_over = handed,
                                    .on_exit = on_exit_,
                                    .data = program};
    if (argv && !program->guard)
        program->guard = guard_start(program->programs->loop, &program->vector);
    program->proc = argv ? child_start(program->programs->loop, &options, err) : NULL;
    program_filter_close(&program->vector, filter);
    engines_etc_close(&etc);
    argv_free(argv);
    argv_free(env);
    if (!program->proc)
        return -1;
    child_write(program->proc, program->input, program->input_len);
    if (!program->keep_input)
        child_close_stdin(program->proc);
    return 0;
}

int64_t program_timeout_ms(int64_t said_ms)
{
    return said_ms > 0 ? said_ms : PROGRAM_TIMEOUT_MS;
}

static void ignore_output(void *user, enum program_stream stream, const char *bytes, size_t len)
{
    (void)user;
    (void)stream;
    (void)bytes;
    (void)len;
}

struct program *program_start(struct programs *programs, struct workspace *ws, const struct program_spec *spec,
                              const struct program_listener *listener, struct err *err)
{
    struct err own = ERR_INIT;
    struct program_room room = {0};
    struct span span;
    span_begin(&span, &ws->observer, ws->clock, SPAN_RUN);
    json_add_str(&span.attrs, SPAN_CMD, spec->cmd ? spec->cmd : "");
    json_add_str(&span.attrs, SPAN_CWD, spec->cwd ? spec->cwd : "");
    if (program_room_make(&room, programs, ws, spec, &own)) {
        program_room_release(&room);
        span_end(&span, -1, &own, err);
        return NULL;
    }
    struct program *program = xcalloc(1, sizeof(*program));
    program->programs = programs;
    program->listener = *listener;
    if (!program->listener.output)
        program->listener.output = ignore_output;
    program->span = span;
    program->span.attrs.out = &program->span.text;
    program->keep_input = spec->keep_input;
    program->input = spec->input ? xmemdup0(spec->input, spec->input_len) : NULL;
    program->input_len = spec->input_len;
    program->words =
        (struct launch_words){.last = !programs->engine->program->control, .output = give_words, .user = program};
    launch_words_init(&program->words);
    program->control = (struct lines)LINES_INIT(CONTROL_LINE_MAX);
    program->around = program_engine_folder(ws);
    program_vector_fill(&program->vector, programs, ws, spec, &room);
    program_room_release(&room);
    join(program);
    program->began_us = loop_now_us(programs->loop);
    if (!*program->vector.argv[0]) {
        cannot_start(program, "");
        be_over(program);
        return program;
    }
    program->cgroup = program_bounds_group(&program->vector);
    if (program->vector.network)
        program->network = program_network_new(programs, spec->call, &program->vector, &own);
    if ((program->vector.network && !program->network) || launch(program, &own)) {
        span_end(&program->span, -1, &own, err);
        leave(program);
        forget(program);
        return NULL;
    }
    program->disk = disk_watch_new(programs->loop, ws, on_full, on_counted, program);
    loop_timer_start(programs->loop, &program->limit, program->began_us + program_timeout_ms(spec->timeout_ms) * 1000,
                     on_limit);
    return program;
}

void program_write(struct program *program, const char *bytes, size_t len)
{
    if (program->proc)
        child_write(program->proc, bytes, len);
}

size_t program_unread(const struct program *program)
{
    return program->proc ? child_unwritten(program->proc) : 0;
}

bool program_hides_input(const struct program *program)
{
    return program->proc && child_hides_input(program->proc);
}

void program_close_input(struct program *program)
{
    if (program->proc)
        child_close_stdin(program->proc);
}

void program_free(struct program *program)
{
    static const struct err dropped = {.text = "it was ended before its time"};
    if (!program)
        return;
    struct loop *loop = program->programs->loop;
    bool running = program->place != NULL;
    loop_timer_stop(loop, &program->limit);
    loop_unpost(loop, &program->telling);
    if (program->proc && !program->vector.engine->program->control)
        ask_outside(program, true);
    if (program->proc && program->vector.engine->unsafe)
        child_kill(program->proc, SIGCONT);
    child_free(program->proc);
    if (running) {
        leave(program);
        span_end(&program->span, -1, &dropped, NULL);
        if (program->listener.dropped)
            program->listener.dropped(program->listener.user);
    }
    forget(program);
}
