/* The life of a process, on top of child.c, which has its descriptors and its exit.
 *
 *     RUNNING ── process_kill(grace) ──► ASKED ── the grace is over ──► KILLED ── SETTLE_US ──► killed from outside
 *        └────── timeout, process_kill(0) ───────────────────────────────▲
 *     any of these ── the child has exited ──► EXITED ── nothing is left of it ──► ENDED: ops.ended
 *
 * Behind an engine the child is the engine's process. Its exit says when the process is over, and the messages of
 * keyturn-launch (hear_line) say how. Before its mark on stderr, all output is the engine's (launcher_words).
 *
 * Callbacks may free the process. Every caller of a callback is between enter and process_leave, so the memory stays
 * valid until then. */

#include "process.h"
#include "child.h"
#include "launcher.h"
#include "lines.h"
#include "loop.h"
#include "loop_meter.h"
#include "mem.h"
#include "strbuf.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL_LINE_MAX 512u
#define STOP_LIMIT_MS    10000u
#define SETTLE_US        3000000 /* for the child to exit, after all processes were killed */

extern char **environ;

enum process_state { PROCESS_RUNNING, PROCESS_ASKED, PROCESS_KILLED, PROCESS_EXITED, PROCESS_ENDED };

struct process {
    struct loop *loop;
    struct process_ops ops;
    void *user;
    enum process_launcher launcher;
    enum process_open open;
    enum process_state state;
    struct child *child; /* NULL: exited */
    struct child *guard;
    struct launcher_words *words; /* NULL: no engine in between */
    struct lines control;
    struct leftovers *leftovers; /* being killed */
    struct loop_timer limit;
    void (*network)(void *user, int take_fd);
    struct process_limits limits;
    char **ask_argv, **stop_argv, **stop_env;
    bool direct;
    char *name, *group, *why;
    struct process_end end;
    struct left_process left[PROCESS_LEFT_MAX];
    int64_t began_us;
    unsigned calls;    /* callbacks in progress */
    bool interrupted;  /* terminated or killed before it exited */
    bool engine_works; /* keyturn-launch has sent a message */
    bool reported;     /* it is known how the process ended */
    bool freed;
};

/* ---- memory ---- */

static void enter(struct process *process)
{
    process->calls++;
}

static void process_leave(struct process *process)
{
    if (--process->calls || !process->freed)
        return;
    launcher_words_free(process->words);
    lines_release(&process->control);
    argv_free(process->ask_argv);
    argv_free(process->stop_argv);
    argv_free(process->stop_env);
    free(process->name);
    free(process->group);
    free(process->why);
    free(process);
}

static void run_outside(struct process *process, char *const *argv)
{
    if (argv)
        (void)child_run_aside(process->loop, (const char *const *)argv, (const char *const *)process->stop_env,
                              STOP_LIMIT_MS);
}

static bool has_control(const struct process *process)
{
    return process->launcher == PROCESS_LAUNCHED || process->launcher == PROCESS_IN_ENGINE;
}

void process_free(struct process *process)
{
    if (!process || process->freed)
        return;
    enter(process);
    process->freed = true;
    loop_timer_stop(process->loop, &process->limit);
    if (process->child && !has_control(process))
        run_outside(process, process->stop_argv);
    if (process->child && process->name)
        child_kill(process->child, SIGCONT); /* a stopped launcher would not notice the end of its control connection */
    child_free(steal(&process->child));
    launcher_guard_dismiss(steal(&process->guard));
    leftovers_leave(steal(&process->leftovers));
    process_leave(process);
}

/* ---- the end ---- */

static void add_left(struct process *process, const struct left_process *left)
{
    struct process_end *end = &process->end;
    end->survivors += left->survived;
    for (size_t i = 0; i < end->left_count; i++)
        if (process->left[i].pid == left->pid) {
            process->left[i].survived = left->survived;
            return;
        }
    if (end->left_count < PROCESS_LEFT_MAX)
        process->left[end->left_count++] = *left;
}

static void blame_limit(struct process *process, char *take_why)
{
    process->end.over_limit = true;
    if (!process->why)
        process->why = steal(&take_why);
    free(take_why);
}

/* A process may continue after one of its children was killed, and exit with 0. */
static void blame_signal(struct process *process)
{
    const struct process_limits *limits = &process->limits;
    if (limits->cpu_s && process->end.signum == SIGXCPU)
        blame_limit(process, xasprintf("it was killed: it used more than %u s of processor time", limits->cpu_s));
    else if (limits->files_mb && process->end.signum == SIGXFSZ)
        blame_limit(process, xasprintf("it was killed: it wrote a file of more than %u MB", limits->files_mb));
}

/* No message said how the process ended, so report the child's exit. */
static void report_child(struct process *process)
{
    struct process_end *end = &process->end;
    bool in_engine = process->words, deaf = process->launcher == PROCESS_IN_ENGINE_DEAF;
    end->exit_code = in_engine ? -1 : end->status;
    end->signum = deaf && end->status > 128 ? end->status - 128 : end->status_signal;
    end->lost = in_engine && !process->interrupted && !process->why && (!process->engine_works || !deaf);
    end->engine_failed = end->lost && !process->engine_works;
}

static void finish(struct process *process)
{
    struct process_end *end = &process->end;
    if (process->reported)
        blame_signal(process);
    else
        report_child(process);
    if (process->words && process->engine_works && !end->lost && !launcher_words_marked(process->words))
        launcher_words_give_up(process->words);
    if (process->freed)
        return;
    if (end->status_signal && !has_control(process))
        run_outside(process, process->stop_argv); /* killed by a signal: the program behind it may still run */
    launcher_guard_dismiss(steal(&process->guard));
    process->state = PROCESS_ENDED;
    end->started = process->engine_works && !end->error;
    end->duration_ms = (loop_now_us(process->loop) - process->began_us) / 1000;
    end->why = process->why;
    end->left = process->left;
    end->engine_said = process->words ? launcher_words_said(process->words) : "";
    process->ops.ended(process->user, end);
}

static void on_leftovers_killed(void *user, const struct left_process *left, size_t count)
{
    struct process *process = user;
    enter(process);
    process->leftovers = NULL;
    for (size_t i = 0; i < count; i++)
        add_left(process, &left[i]);
    if (process->child)
        child_kill(process->child, SIGKILL); /* the exit of the child completes the end */
    else
        finish(process);
    process_leave(process);
}

static void hear_line(void *user, const char *line);

static void on_child_exit(void *data, int status, int signum)
{
    struct process *process = data;
    enter(process);
    loop_timer_stop(process->loop, &process->limit);
    child_free(steal(&process->child));
    process->interrupted = process->state != PROCESS_RUNNING;
    process->state = PROCESS_EXITED;
    process->end.status = signum ? -1 : status;
    process->end.status_signal = signum;
    if (process->words)
        launcher_words_end(process->words, hear_line);
    if (!process->freed && !process->reported && process->name && !process->leftovers)
        process->leftovers =
            leftovers_kill(process->loop, 0, process->name, process->group, on_leftovers_killed, process);
    if (!process->freed && !process->leftovers)
        finish(process);
    process_leave(process);
}

/* ---- messages of keyturn-launch (harness/launch.c) ---- */

static void hear_left(struct process *process, const char *text, bool survived)
{
    struct left_process left = {.survived = survived};
    if (sscanf(text, "%d %16s", &left.pid, left.name) == 2)
        add_left(process, &left);
}

static void begin_process(struct process *process)
{
    bool works = process->engine_works;
    process->engine_works = true;
    if (!works && process->ops.started && !process->freed)
        process->ops.started(process->user);
}

static void hear_line(void *user, const char *line)
{
    struct process *process = user;
    struct process_end *end = &process->end;
    int number;
    if (strcmp(line, "started") == 0)
        begin_process(process);
    else if (strncmp(line, "left ", 5) == 0)
        hear_left(process, line + 5, false);
    else if (strncmp(line, "survivor ", 9) == 0)
        hear_left(process, line + 9, true);
    else if (sscanf(line, "crowd %d", &number) == 1)
        blame_limit(process, xasprintf("it was killed: it made more than %d processes", number));
    else if (sscanf(line, "memory %d", &number) == 1)
        blame_limit(process, xasprintf("it was killed: it used more than %u MB of memory (%d MB when seen)",
                                       process->limits.memory_mb, number));
    else if (strcmp(line, "unseen") == 0)
        blame_limit(process, xstrdup("it was killed: its memory use cannot be read"));
    else if (sscanf(line, "error %d", &number) == 1) {
        process->engine_works = process->reported = true;
        end->error = number;
        end->exit_code = -1;
    } else if (sscanf(line, "exit %d", &number) == 1 || sscanf(line, "signal %d", &number) == 1) {
        process->reported = true;
        end->exit_code = line[0] == 'e' ? number : -1;
        end->signum = line[0] == 'e' ? 0 : number;
    }
}

static bool on_control_line(void *user, const char *text, size_t len)
{
    CLEANUP(free) char *line = xmemdup0(text, len);
    hear_line(user, line);
    return true;
}

/* In a sandbox keyturn-launch reports the end after it has buried every process, and then closes the line. What is left
 * is the engine, which takes some milliseconds to undo its namespaces. */
static bool is_over(const struct process *process)
{
    return process->launcher == PROCESS_IN_ENGINE && process->direct && !process->name && process->reported &&
           !process->end.error && !process->end.survivors && process->child && !process->freed;
}

static void on_control(void *data, const char *bytes, size_t len)
{
    struct process *process = data;
    enter(process);
    lines_feed(&process->control, bytes, len, on_control_line, process);
    if (!len && is_over(process))
        child_end_now(process->child, process->end.signum ? 128 + process->end.signum : process->end.exit_code);
    process_leave(process);
}

static void on_socket(void *data, int take_fd)
{
    struct process *process = data;
    if (process->network)
        process->network(process->user, take_fd);
    else
        close(take_fd);
}

/* ---- output ---- */

static void give_output(struct process *process, enum process_stream stream, const char *bytes, size_t len)
{
    if (process->ops.output && !process->freed)
        process->ops.output(process->user, stream, bytes, len);
}

/* A terminal has one stream, which the engine shares with the program. */
static enum process_stream shared_stream(const struct process *process)
{
    return process->open == PROCESS_PTY ? PROCESS_STDOUT : PROCESS_STDERR;
}

static void on_words(void *user, bool engine, const char *bytes, size_t len)
{
    struct process *process = user;
    if (engine && process->launcher == PROCESS_IN_ENGINE_DEAF)
        begin_process(process);
    if (len)
        give_output(process, engine ? PROCESS_ENGINE_STDERR : shared_stream(process), bytes, len);
}

static void on_output(void *data, enum process_stream stream, const char *bytes, size_t len)
{
    struct process *process = data;
    enter(process);
    if (process->words && len && stream == shared_stream(process))
        launcher_words_feed(process->words, bytes, len);
    else if (!process->words || len)
        give_output(process, stream, bytes, len);
    process_leave(process);
}

/* ---- starting ---- */

static char **copy_list(const char *const *list)
{
    return list ? argv_copy(list) : NULL;
}

static struct process *new_process(struct loop *loop, const struct process_spec *spec, const struct process_ops *ops,
                                   void *user)
{
    struct process *process = xcalloc(1, sizeof(*process));
    *process = (struct process){.loop = loop,
                                .ops = *ops,
                                .user = user,
                                .launcher = spec->launcher,
                                .direct = spec->direct,
                                .open = spec->open,
                                .control = LINES_INIT(CONTROL_LINE_MAX),
                                .network = spec->network,
                                .limits = spec->limits,
                                .ask_argv = copy_list(spec->ask_argv),
                                .stop_argv = copy_list(spec->stop_argv),
                                .stop_env = copy_list(spec->stop_env),
                                .name = spec->name ? xstrdup(spec->name) : NULL,
                                .group = spec->group ? xstrdup(spec->group) : NULL,
                                .engine_works = spec->launcher == PROCESS_DIRECT,
                                .began_us = loop_now_us(loop)};
    if (spec->launcher >= PROCESS_IN_ENGINE)
        process->words = launcher_words_new(!has_control(process), on_words, process);
    return process;
}

static struct child *start_child(struct process *process, const struct process_spec *spec, struct err *err)
{
    struct child_ops ops = {.output = on_output,
                            .control = has_control(process) ? on_control : NULL,
                            .socket = spec->network ? on_socket : NULL,
                            .exited = on_child_exit};
    if (spec->launcher != PROCESS_LAUNCHED)
        return child_start(process->loop, spec, &ops, process, err);
    struct process_spec launched = *spec;
    char **argv = launcher_argv(spec->argv, spec->cwd), **env = launcher_env(spec->env);
    launched.argv = (const char *const *)argv;
    launched.env = (const char *const *)env;
    launched.cwd = NULL; /* keyturn-launch changes to the folder */
    struct child *child = child_start(process->loop, &launched, &ops, process, err);
    argv_free(argv);
    argv_free(env);
    return child;
}

static void on_limit(struct loop_timer *timer);

struct process *process_start(struct loop *loop, const struct process_spec *spec, const struct process_ops *ops,
                              void *user, struct err *err)
{
    if (spec->open == PROCESS_TERMINAL)
        BUG("a process on the user's terminal must run alone");
    struct process *process = new_process(loop, spec, ops, user);
    if (spec->guard && process->stop_argv)
        process->guard = launcher_guard_start(loop, spec->stop_argv, spec->stop_env);
    process->child = start_child(process, spec, err);
    if (!process->child) {
        process_free(process);
        return NULL;
    }
    if (spec->input)
        child_write(process->child, spec->input, spec->input_len);
    if (!spec->keep_input)
        child_close_stdin(process->child);
    if (spec->timeout_ms > 0)
        loop_timer_start(loop, &process->limit, process->began_us + spec->timeout_ms * 1000, on_limit);
    return process;
}

/* ---- orders ---- */

static unsigned add_texts(struct strbuf *out, const char *const *list)
{
    unsigned count = 0;
    for (; list[count]; count++)
        strbuf_add(out, list[count], strlen(list[count]) + 1);
    return count;
}

bool process_give_order(struct process *process, const struct process_order *order)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct launch_order head = {0};
    strbuf_add(&text, (const char *)&head, sizeof(head));
    head.args = add_texts(&text, order->argv);
    head.variables = add_texts(&text, order->env);
    if (!process->child || process->state != PROCESS_RUNNING || text.len - sizeof(head) > LAUNCH_ORDER_MAX)
        return false;
    head.len = (unsigned)(text.len - sizeof(head));
    memcpy(text.buf, &head, sizeof(head));
    if (!child_write_control(process->child, text.buf, text.len))
        return false;
    process->ops = *order->ops;
    process->user = order->user;
    process->network = order->network;
    process->limits = order->limits;
    process->began_us = loop_now_us(process->loop);
    if (order->input)
        child_write(process->child, order->input, order->input_len);
    if (!order->keep_input)
        child_close_stdin(process->child);
    loop_timer_start(process->loop, &process->limit, process->began_us + order->timeout_ms * 1000, on_limit);
    return true;
}

/* ---- while it runs ---- */

void process_write(struct process *process, const void *bytes, size_t len)
{
    if (process->child)
        child_write(process->child, bytes, len);
}

size_t process_unread(const struct process *process)
{
    return process->child ? child_unwritten(process->child) : 0;
}

void process_close_input(struct process *process)
{
    if (process->child)
        child_close_stdin(process->child);
}

bool process_hides_input(const struct process *process)
{
    return process->child && child_hides_input(process->child);
}

void process_resize(struct process *process, int rows, int cols)
{
    if (process->child)
        child_resize(process->child, rows, cols);
}

void process_pause(struct process *process, bool paused)
{
    if (process->child)
        child_pause(process->child, paused);
}

/* ---- terminating and killing ---- */

static void on_settled(struct loop_timer *timer)
{
    struct process *process = CONTAINER_OF(timer, struct process, limit);
    run_outside(process, process->stop_argv);
    if (!process->name)
        child_kill(process->child, SIGKILL);
    else if (!process->leftovers)
        process->leftovers = leftovers_kill(process->loop, child_pid(process->child), process->name, process->group,
                                            on_leftovers_killed, process);
}

static void send_letter(struct process *process, char letter)
{
    bool asks = letter == LAUNCH_ASK;
    if (process->name)
        child_kill(process->child, SIGCONT); /* a stopped launcher reads no commands */
    if (has_control(process))
        child_write_control(process->child, &letter, 1);
    else if (process->launcher == PROCESS_IN_ENGINE_DEAF)
        run_outside(process, asks ? process->ask_argv : process->stop_argv);
    else
        child_kill(process->child, asks ? SIGTERM : SIGKILL);
}

static void kill_now(struct process *process)
{
    process->state = PROCESS_KILLED;
    process->end.forced = true;
    send_letter(process, LAUNCH_KILL);
    if (process->launcher == PROCESS_DIRECT)
        loop_timer_stop(process->loop, &process->limit); /* the kill was the last step */
    else
        loop_timer_start(process->loop, &process->limit, loop_now_us(process->loop) + SETTLE_US, on_settled);
}

static void on_limit(struct loop_timer *timer)
{
    struct process *process = CONTAINER_OF(timer, struct process, limit);
    process->end.timed_out = process->state == PROCESS_RUNNING;
    kill_now(process);
}

bool process_kill(struct process *process, int64_t grace_ms)
{
    if (process->state != PROCESS_RUNNING && !(process->state == PROCESS_ASKED && grace_ms <= 0))
        return false;
    if (grace_ms <= 0) {
        kill_now(process);
        return true;
    }
    process->state = PROCESS_ASKED;
    process->end.asked = true;
    send_letter(process, LAUNCH_ASK);
    loop_timer_start(process->loop, &process->limit, loop_now_us(process->loop) + grace_ms * 1000, on_limit);
    return true;
}

/* ---- on the user's terminal ---- */

/* Signals for the foreground process of the terminal, which is not us meanwhile. */
static const int terminal_signals[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
#define STOPS_FROM 2 /* index of the first that stops a process */

/* `out`: where standard output goes; -1: to the terminal. */
static _Noreturn void become(const struct process_spec *spec, const char *file, int out)
{
    int nothing = out >= 0 ? open("/dev/null", O_RDONLY) : -1;
    if (out >= 0 && (dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0))
        _exit(LAUNCH_FAILED);
    for (size_t i = 0; i < COUNT_OF(terminal_signals); i++)
        signal(terminal_signals[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL); /* Keyturn ignores these two */
    signal(SIGXFSZ, SIG_DFL);
    syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
    if (!spec->cwd || chdir(spec->cwd) == 0)
        execve(file, (char *const *)(uintptr_t)spec->argv, spec->env ? (char *const *)(uintptr_t)spec->env : environ);
    _exit(LAUNCH_FAILED);
}

/* Waits like system(3), but if the process is suspended, Keyturn suspends itself too. */
static int wait_for(pid_t child, struct process_end *end)
{
    int status;
    for (;;) {
        pid_t got = waitpid(child, &status, WUNTRACED);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got > 0 && WIFSTOPPED(status))
            raise(SIGSTOP);
        else if (got > 0)
            break;
    }
    end->signum = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return 0;
}

static int run_here(const struct process_spec *spec, struct strbuf *said, size_t most, struct process_end *end,
                    struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, kept[COUNT_OF(terminal_signals)];
    CLEANUP(free) char *file = child_find_program(spec->argv[0], spec->env);
    int ends[2] = {-1, -1};
    *end = (struct process_end){.exit_code = -1, .engine_said = ""};
    if (!file)
        return child_not_found(err, spec->argv[0]);
    if (said && pipe2(ends, O_CLOEXEC) < 0)
        return err_set_errno(err, errno, "cannot run %s", spec->argv[0]);
    /* While we read its output we do not wait for its stops. So the terminal's stop signals must stop us too. */
    size_t signals = said ? STOPS_FROM : COUNT_OF(terminal_signals);
    for (size_t i = 0; i < signals; i++)
        sigaction(terminal_signals[i], &ignore, &kept[i]);
    pid_t child = fork();
    if (child == 0)
        become(spec, file, ends[1]);
    loop_meter_away(true);
    int failed = child < 0 ? errno : 0;
    if (ends[1] >= 0)
        close(ends[1]);
    if (ends[0] >= 0) {
        char part[512];
        for (ssize_t len; said->len < most && (len = read(ends[0], part, sizeof(part))) != 0;)
            if (len > 0)
                strbuf_add(said, part, (size_t)len);
            else if (errno != EINTR)
                break;
        explicit_bzero(part, sizeof(part));
        close(ends[0]);
    }
    if (!failed && wait_for(child, end))
        failed = errno;
    loop_meter_away(false);
    for (size_t i = 0; i < signals; i++)
        sigaction(terminal_signals[i], &kept[i], NULL);
    return failed ? err_set_errno(err, failed, "cannot run %s", spec->argv[0]) : 0;
}

int process_run_in_terminal(const struct process_spec *spec, struct process_end *end, struct err *err)
{
    return run_here(spec, NULL, 0, end, err);
}

int process_read_in_terminal(const struct process_spec *spec, struct strbuf *said, size_t most, struct process_end *end,
                             struct err *err)
{
    return run_here(spec, said, most, end, err);
}
