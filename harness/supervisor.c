/* Runs the supervisor's loop: it takes requests from the host, gives each to a child and forwards the child's events.
 *
 * One loop, one thread. It waits for the host's lines, the child's pipes, the zygote's messages, signals and the
 * deadline, and blocks nowhere else. If the host does not read, the supervisor stops reading from the child, which
 * blocks the child. The deadline still applies.
 *
 * Requests run one after the other, in the order of their lines. The zygote makes the next child after script_done is
 * written, never while a script runs. */

#include "base/mem.h"
#include "files.h"
#include "supervisor_internal.h"
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* While this much output waits for the host, the child waits too. */
#define OUT_HIGH ((size_t)1 << 20)
/* The least time that a request waits for a child, even if its script may run only shortly. A busy machine needs that
 * long for pyhost_preload after ready. */
#define PATIENCE_LEAST_S 10.0
/* … doubled up to this many times after a failure: the machine may just be that slow. */
#define PATIENCE_DOUBLED 5
/* See gather(). */
#define BURST     8
#define GATHER_US 200

int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void give_up(struct supervisor *s, int status, const char *why)
{
    if (why)
        fprintf(stderr, "keyturn-harness: %s\n", why);
    s->exit_status = status;
}

/* ---- requests ---- */

static void answer_error(struct supervisor *s, const char *id, const char *message)
{
    s->sink.id = id;
    event_error(&s->sink, message, "");
    event_done(&s->sink);
    s->sink.id = NULL;
}

/* Looks up the secrets. If some are missing, answers with an error and returns false. */
static bool find_secrets(struct supervisor *s)
{
    CLEANUP(strbuf) struct strbuf missing = STRBUF_INIT;
    for (size_t i = 0; i < s->request.secret_count; i++) {
        const char *name = s->request.secrets[i], *value = getenv(name);
        if (!value) {
            strbuf_addf(&missing, "%s%s", missing.len ? ", " : "Missing secrets: ", name);
            continue;
        }
        mask_add(&s->sink.mask, name, value);
        strbuf_addf(&s->secrets, "%s=%s", name, value);
        strbuf_addch(&s->secrets, '\0');
    }
    if (missing.len)
        answer_error(s, s->request.id, missing.buf);
    return missing.len == 0;
}

static void forget_request(struct supervisor *s)
{
    mask_clear(&s->sink.mask);
    explicit_bzero(s->secrets.buf, s->secrets.len);
    strbuf_reset(&s->secrets);
    arena_reset(&s->request_memory);
    s->request = (struct request){0};
    s->sink.id = NULL;
    s->waiting = false;
}

static void begin_execution(struct supervisor *s)
{
    s->waiting = false;
    s->look_us = now_us() + WORKSPACE_LOOK_MS * 1000;
    s->files = s->bounded ? workspace_files(s->options->workspace) : 0;
    s->sink.id = s->request.id;
    execution_begin(&s->execution, &s->request, &s->spare, &s->secrets, s->options->limit_cpu, now_us());
    explicit_bzero(s->secrets.buf, s->secrets.len);
    strbuf_reset(&s->secrets);
}

static void take_line(struct supervisor *s, const char *line, size_t len)
{
    struct err err = ERR_INIT;
    if (request_parse(&s->request, &s->request_memory, line, len, &err) < 0) {
        answer_error(s, s->request.id, err.text);
        forget_request(s);
    } else if (!find_secrets(s)) {
        forget_request(s);
    } else {
        const unsigned doubled = s->replaced < PATIENCE_DOUBLED ? s->replaced : PATIENCE_DOUBLED;
        const double least = PATIENCE_LEAST_S * (1u << doubled);
        const double patience = s->request.timeout > least ? s->request.timeout : least;
        s->waiting = true;
        s->patience_us = now_us() + (int64_t)(patience * 1e6);
    }
}

/* Handles a request for which no child came in time: a tool may block the zygote. */
static void lose_patience(struct supervisor *s)
{
    answer_error(s, s->request.id,
                 "The harness started no process for the script in time; a tool may block while it loads");
    forget_request(s);
    replace_zygote(s);
}

/* Takes requests until one runs or waits for a child. */
static void take_requests(struct supervisor *s)
{
    while (s->ready && !s->execution.running && s->exit_status < 0) {
        enum protocol_line found = PROTOCOL_NONE;
        size_t len = 0;
        if (s->waiting) {
            if (!s->spare.pid)
                return;
            begin_execution(s);
            return;
        }
        char *line = protocol_next_line(&s->protocol, &len, &found);
        if (found == PROTOCOL_LINE)
            take_line(s, line, len);
        else if (found == PROTOCOL_TOO_LONG)
            answer_error(s, NULL, "the request is longer than 16 MB");
        else if (found == PROTOCOL_END)
            give_up(s, 0, NULL);
        if (found == PROTOCOL_NONE || found == PROTOCOL_END)
            return;
    }
}

/* ---- signals ---- */

static void read_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    pid_t pid;
    int status;
    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            give_up(s, 0, NULL);
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) { /* as process 1, orphans too */
        if (pid != s->zygote.pid)
            continue;
        s->zygote.pid = 0;
        s->zygote_status = status;
    }
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* ---- the loop ---- */

static void end_execution(struct supervisor *s)
{
    s->zygote_deaths = s->spare_deaths = 0;
    execution_close(&s->execution);
    forget_request(s);
    want_spare(s);
}

/* After a script with much output, once that is written: frees the buffers and trims the C library's heap. */
static void give_back(struct supervisor *s)
{
    if (s->execution.running || s->execution.output < OUT_HIGH || s->sink.out.len)
        return;
    s->execution.output = 0;
    strbuf_release(&s->sink.out);
    malloc_trim(0);
}

static void look_at_workspace(struct supervisor *s, int64_t now)
{
    const uint64_t files = workspace_files(s->options->workspace);
    char message[96];
    s->look_us = now + WORKSPACE_LOOK_MS * 1000;
    if (files <= WORKSPACE_FILES_MAX || files <= s->files) /* a script that removes files may continue */
        return;
    snprintf(message, sizeof(message), "Script made more than %u files", WORKSPACE_FILES_MAX);
    execution_kill(&s->execution, message);
}

static int64_t sooner(bool counts, int64_t one, int64_t other)
{
    return counts && one < other ? one : other;
}

/* Returns the time of the next timer; INT64_MAX: none. */
static int64_t next_tick_us(const struct supervisor *s)
{
    int64_t next = sooner(s->file, s->file_due_us, INT64_MAX);
    next = sooner(s->waiting && !s->execution.running, s->patience_us, next);
    next = sooner(s->execution.running && s->bounded, s->look_us, next);
    return sooner(s->execution.running, s->execution.deadline_us, next);
}

static void tick(struct supervisor *s)
{
    if (s->file && now_us() >= s->file_due_us)
        lose_file(s);
    if (s->waiting && !s->spare.pid && now_us() >= s->patience_us)
        lose_patience(s);
    if (!s->execution.running || s->execution.over)
        return;
    int64_t now = now_us();
    if (s->bounded && now >= s->look_us)
        look_at_workspace(s, now);
    if (!s->execution.over && now >= s->execution.deadline_us)
        execution_tick(&s->execution, now);
}

/* A script with much output writes it in small pieces, and each would wake the supervisor and the host. After a few in
 * quick succession, waits a moment too short to notice, so that pieces gather. */
static void gather(struct supervisor *s, bool served)
{
    const struct timespec moment = {.tv_nsec = GATHER_US * 1000};
    if (!served)
        return;
    int64_t now = now_us();
    s->burst = now - s->served_us < 2 * GATHER_US ? s->burst + 1 : 0;
    if (s->burst >= BURST && !s->execution.over)
        nanosleep(&moment, NULL);
    s->served_us = s->burst >= BURST ? now_us() : now;
}

static int wait_for(struct supervisor *s, struct pollfd *polls, size_t count)
{
    struct timespec timeout = {0}, *limit = NULL;
    const int64_t next = next_tick_us(s);
    if (next != INT64_MAX) {
        int64_t left = next - now_us();
        left = left < 0 ? 0 : left;
        timeout = (struct timespec){left / 1000000, left % 1000000 * 1000};
        limit = &timeout;
    }
    return ppoll(polls, count, limit, NULL);
}

/* While a request runs, further ones wait in the pipe. Where it matters, the supervisor must still notice that the host
 * has closed it. */
static struct pollfd poll_input(const struct supervisor *s)
{
    const bool reading = protocol_wants(&s->protocol);
    const bool watching = s->options->end_with_input && !s->protocol.end;
    return (struct pollfd){.fd = reading || watching ? STDIN_FILENO : -1,
                           .events = (short)((reading ? POLLIN : 0) | (watching ? POLLRDHUP : 0))};
}

/* Returns true if no process waits for answers: the reader of our output or the sender of the requests is gone. */
static bool host_gone(const struct supervisor *s, short in, short out)
{
    if (out & (POLLERR | POLLHUP | POLLNVAL))
        return true;
    return s->options->end_with_input && (s->protocol.end || in & (POLLERR | POLLHUP | POLLRDHUP));
}

static void step(struct supervisor *s)
{
    enum { IN, OUT, SIGNALS, CONTROL, LOADING, CHILD };
    struct pollfd polls[CHILD + EXECUTION_POLLS] = {
        [IN] = poll_input(s),
        [OUT] = {.fd = STDOUT_FILENO, .events = s->sink.out.len ? POLLOUT : 0},
        [SIGNALS] = {.fd = s->signals, .events = POLLIN},
        [CONTROL] = {.fd = s->zygote.control, .events = POLLIN},
        [LOADING] = {.fd = s->zygote.loading, .events = POLLIN},
    };
    size_t children = 0;
    bool served = false;

    if (s->execution.running)
        children = execution_polls(&s->execution, s->sink.out.len < OUT_HIGH, polls + CHILD);
    if (wait_for(s, polls, CHILD + children) < 0 && errno != EINTR) {
        give_up(s, 1, strerror(errno));
        return;
    }
    if (polls[IN].revents & POLLIN || (polls[IN].revents && protocol_wants(&s->protocol)))
        protocol_read(&s->protocol);
    if (host_gone(s, polls[IN].revents, polls[OUT].revents)) {
        give_up(s, 0, NULL);
        return;
    }
    if (children)
        served = execution_serve(&s->execution, polls + CHILD, children);
    if (polls[SIGNALS].revents)
        read_signals(s);
    if (polls[LOADING].revents)
        read_loading(s);
    if (polls[CONTROL].revents)
        read_control(s);
    tick(s);
    if (s->sink.out.len)
        protocol_write(&s->protocol, &s->sink.out);
    if (s->execution.running && s->execution.over)
        end_execution(s);
    take_requests(s);
    if (s->sink.out.len)
        protocol_write(&s->protocol, &s->sink.out);
    give_back(s);
    gather(s, served);
}

int supervisor_main(const struct supervisor_options *options)
{
    struct supervisor s = {.options = options, .zygote = {.control = -1, .loading = -1}, .exit_status = -1};
    s.bounded = workspace_bound_mb(options->workspace) > 0;
    prctl(PR_SET_DUMPABLE, 0);
    protocol_init(&s.protocol);
    event_sink_init(&s.sink);
    event_sink_init(&s.notes);
    record_reader_init(&s.loading);
    stream_init(&s.printed[0], "stdout");
    stream_init(&s.printed[1], "stderr");
    strbuf_init(&s.sandbox);
    strbuf_init(&s.secrets);
    execution_init(&s.execution, &s.sink);
    s.signals = open_signals();
    start_zygote(&s);
    while (s.exit_status < 0)
        step(&s);
    protocol_drain(&s.protocol, &s.sink.out);
    if (s.zygote.pid > 0)
        kill(s.zygote.pid, SIGKILL); /* its children die with it */
    execution_release(&s.execution);
    record_reader_release(&s.loading);
    stream_release(&s.printed[0]);
    stream_release(&s.printed[1]);
    event_sink_release(&s.sink);
    event_sink_release(&s.notes);
    strbuf_release(&s.sandbox);
    strbuf_release(&s.secrets);
    release_files(&s);
    arena_release(&s.request_memory);
    protocol_release(&s.protocol);
    return s.exit_status;
}
