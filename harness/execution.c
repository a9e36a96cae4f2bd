/* Sends a script to its child, reads the child's output and ends the execution.
 *
 * An execution ends in one of three ways: the child's end record, the child's death, or a limit of the supervisor. In
 * each case it reads what the pipes still hold, writes at most one error, and then script_done. Then it closes its pipe
 * ends, so no later output can arrive. */

#include "execution.h"
#include "base/mem.h"
#include "events.h"
#include "request.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pipe holds no more than this many chunks. */
#define DRAIN_ROUNDS 32

enum { PRINTED_OUT, PRINTED_ERR, RAW_OUT, RAW_ERR };

static char chunk[64 << 10]; /* the supervisor has one thread */

void execution_init(struct execution *execution, struct event_sink *sink)
{
    *execution = (struct execution){.sink = sink, .message = STRBUF_INIT, .arena = ARENA_INIT};
    record_reader_init(&execution->records);
    for (size_t i = 0; i < COUNT_OF(execution->streams); i++)
        stream_init(&execution->streams[i], i % 2 ? "stderr" : "stdout");
}

void execution_release(struct execution *execution)
{
    record_reader_release(&execution->records);
    for (size_t i = 0; i < COUNT_OF(execution->streams); i++)
        stream_release(&execution->streams[i]);
    arena_release(&execution->arena);
    strbuf_release(&execution->message);
}

static void signal_child(const struct execution *execution, int number)
{
    syscall(SYS_pidfd_send_signal, execution->child.fds[HAND_PIDFD], number, NULL, 0);
}

/* ---- sending ---- */

static void close_end(struct execution *execution, int which)
{
    if (execution->child.fds[which] >= 0)
        close(execution->child.fds[which]);
    execution->child.fds[which] = -1;
}

static void send_message(struct execution *execution)
{
    while (execution->sent < execution->message.len) {
        ssize_t count = write(execution->child.fds[HAND_SCRIPT], execution->message.buf + execution->sent,
                              execution->message.len - execution->sent);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return;
        if (count < 0)
            break; /* the child is gone; the other pipes report that */
        execution->sent += (size_t)count;
    }
    explicit_bzero(execution->message.buf, execution->message.len); /* secrets */
    strbuf_reset(&execution->message);
    execution->sent = 0;
    close_end(execution, HAND_SCRIPT);
}

void execution_begin(struct execution *execution, const struct request *request, struct spare *take_child,
                     const struct strbuf *secrets, bool limit_cpu, int64_t now_us)
{
    struct run_header header = {.script_len = (uint32_t)request->script_len,
                                .secrets_len = (uint32_t)secrets->len,
                                .all_tools = request->all_tools};
    execution->child = *take_child;
    *take_child = (struct spare){0};
    execution->running = true;
    execution->over = execution->timed_out = false;
    execution->output = 0;
    execution->cpu_s = (unsigned)ceil(request->timeout) + 1;
    execution->deadline_us = now_us + (int64_t)(request->timeout * 1e6);
    snprintf(execution->limit, sizeof(execution->limit), "%.6g", request->named);
    memcpy(header.limit, execution->limit, sizeof(header.limit));
    if (limit_cpu) {
        const struct rlimit cpu = {execution->cpu_s, execution->cpu_s + 1};
        prlimit(execution->child.pid, RLIMIT_CPU, &cpu, NULL); /* if this fails, the limit on wall time still applies */
    }
    strbuf_add(&execution->message, &header, sizeof(header));
    strbuf_add(&execution->message, request->script, request->script_len);
    strbuf_add(&execution->message, secrets->buf, secrets->len);
    size_t at = execution->message.len;
    for (size_t i = 0; i < request->tool_count; i++)
        strbuf_add(&execution->message, request->tools[i], strlen(request->tools[i]) + 1);
    header.tools_len = (uint32_t)(execution->message.len - at);
    at = execution->message.len;
    files_pack(&execution->message, request->files, request->file_count);
    header.files_len = (uint32_t)(execution->message.len - at);
    memcpy(execution->message.buf, &header, sizeof(header));
    send_message(execution);
}

/* ---- the end ---- */

/* Reads once. Returns false if the pipe had no data. */
static bool read_raw(struct execution *execution, int which)
{
    ssize_t count = execution->child.fds[which] < 0 ? 0 : read(execution->child.fds[which], chunk, sizeof(chunk));
    if (count > 0)
        stream_add(&execution->streams[which == HAND_STDOUT ? RAW_OUT : RAW_ERR], execution->sink, chunk,
                   (size_t)count);
    else if (count == 0)
        close_end(execution, which);
    return count > 0 || (count < 0 && errno == EINTR);
}

/* Reads the remaining output. A pipe without writers holds a bounded number of bytes; the round limit covers a process
 * that still writes. */
static void drain_raw(struct execution *execution)
{
    for (int which = HAND_STDOUT; which <= HAND_STDERR; which++)
        for (size_t rounds = 0; rounds < DRAIN_ROUNDS && read_raw(execution, which); rounds++)
            ;
}

static void finish(struct execution *execution, const char *message, const char *traceback)
{
    if (execution->over)
        return;
    execution->over = true;
    drain_raw(execution);
    for (size_t i = 0; i < COUNT_OF(execution->streams); i++)
        stream_finish(&execution->streams[i], execution->sink);
    if (message)
        event_error(execution->sink, message, traceback);
    event_done(execution->sink);
}

static void finish_timed_out(struct execution *execution, const char *traceback)
{
    char message[96];
    snprintf(message, sizeof(message), "Script timed out after %ss", execution->limit);
    finish(execution, message, traceback);
}

/* ---- records ---- */

static void flush_printed(struct execution *execution)
{
    stream_flush(&execution->streams[PRINTED_OUT], execution->sink);
    stream_flush(&execution->streams[PRINTED_ERR], execution->sink);
}

static void take_end(struct execution *execution, const struct record *record)
{
    if (execution->timed_out)
        finish_timed_out(execution, record->more ? record->more : "");
    else
        finish(execution, record->text, record->more);
}

static void take_record(struct execution *execution, const struct record *record)
{
    struct event_sink *sink = execution->sink;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    switch (record->kind) {
    case RECORD_STDOUT:
        stream_add(&execution->streams[PRINTED_OUT], sink, record->text, record->len);
        return;
    case RECORD_STDERR:
        stream_add(&execution->streams[PRINTED_ERR], sink, record->text, record->len);
        return;
    case RECORD_END:
        take_end(execution, record);
        return;
    default:
        break;
    }
    flush_printed(execution);
    switch (record->kind) {
    case RECORD_RESULT:
        if (!execution->timed_out) /* ignore an error reported after the timeout */
            event_result(sink, record->value);
        break;
    case RECORD_INTERMEDIATE:
        event_intermediate(sink, record->text, record->len, record->value);
        break;
    case RECORD_LOG:
        event_log(sink, record->more, record->text, record->len);
        break;
    default:
        strbuf_addf(&text, "the script wrote to the event pipe itself: %s",
                    record->kind == RECORD_BAD ? record->text : "a record that is not a script's");
        event_log(sink, "warning", text.buf, text.len);
    }
}

static bool read_records(struct execution *execution)
{
    ssize_t count =
        execution->child.fds[HAND_EVENTS] < 0 ? 0 : read(execution->child.fds[HAND_EVENTS], chunk, sizeof(chunk));
    struct record record;
    if (count <= 0) {
        if (count == 0)
            close_end(execution, HAND_EVENTS);
        return count < 0 && errno == EINTR;
    }
    record_reader_add(&execution->records, chunk, (size_t)count);
    while (!execution->over && record_reader_next(&execution->records, &execution->arena, &record)) {
        take_record(execution, &record);
        arena_reset(&execution->arena);
    }
    return true;
}

/* ---- waiting ---- */

size_t execution_polls(const struct execution *execution, bool reading, struct pollfd *polls)
{
    size_t count = 0;
    for (int which = HAND_EVENTS; reading && which <= HAND_STDERR; which++)
        if (execution->child.fds[which] >= 0)
            polls[count++] = (struct pollfd){.fd = execution->child.fds[which], .events = POLLIN};
    if (execution->message.len)
        polls[count++] = (struct pollfd){.fd = execution->child.fds[HAND_SCRIPT], .events = POLLOUT};
    return count;
}

bool execution_serve(struct execution *execution, const struct pollfd *polls, size_t count)
{
    const size_t before = execution->sink->out.len;
    bool served = false;
    for (size_t i = 0; i < count && !execution->over; i++) {
        if (!polls[i].revents)
            continue;
        served = true;
        if (polls[i].fd == execution->child.fds[HAND_EVENTS])
            read_records(execution);
        else if (polls[i].fd == execution->child.fds[HAND_SCRIPT])
            send_message(execution);
        else
            read_raw(execution, polls[i].fd == execution->child.fds[HAND_STDOUT] ? HAND_STDOUT : HAND_STDERR);
    }
    execution->output += execution->sink->out.len - before;
    if (execution->output > EXECUTION_OUTPUT_MAX && !execution->over) {
        execution_kill(execution, "Script wrote more than 64 MB of output");
    }
    return served;
}

void execution_tick(struct execution *execution, int64_t now_us)
{
    if (!execution->timed_out) {
        execution->timed_out = true;
        execution->deadline_us = now_us + EXECUTION_GRACE_MS * 1000;
        signal_child(execution, SIGRTMAX);
        return;
    }
    signal_child(execution, SIGKILL);
    finish_timed_out(execution, "");
}

/* Names the cause of an end that the child did not report. */
static void tell_cause(struct strbuf *out, const struct execution *execution, int status)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const char *name = number ? sigabbrev_np(number) : NULL;
    if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_UNTOLD)
        strbuf_addstr(out, "Script closed the event pipe; its exit status is unknown");
    else if (WIFEXITED(status))
        strbuf_addf(out, "Script ended its process with exit status %d", WEXITSTATUS(status));
    else if (number == SIGXCPU)
        strbuf_addf(out, "Script used more than %u s of processor time", execution->cpu_s);
    else if (number == SIGSYS)
        strbuf_addstr(out, "Script was killed by the system-call filter (SIGSYS)");
    else if (number == SIGKILL)
        strbuf_addstr(out, "Script was killed (SIGKILL): out of memory, or of processor time");
    else if (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE)
        strbuf_addf(out, "Script crashed the interpreter (SIG%s)", name);
    else if (number == SIGABRT)
        strbuf_addstr(out, "Script aborted its process (SIGABRT)");
    else
        strbuf_addf(out, "Script was killed by signal %d (SIG%s)", number, name ? name : "?");
}

void execution_exited(struct execution *execution, int status)
{
    CLEANUP(strbuf) struct strbuf cause = STRBUF_INIT;
    for (size_t rounds = 0; rounds < DRAIN_ROUNDS && !execution->over && read_records(execution); rounds++)
        ; /* the end record may be written but not yet read */
    if (execution->timed_out) {
        finish_timed_out(execution, "");
        return;
    }
    tell_cause(&cause, execution, status);
    finish(execution, cause.buf, "");
}

void execution_fail(struct execution *execution, const char *message)
{
    finish(execution, message, "");
}

void execution_kill(struct execution *execution, const char *message)
{
    signal_child(execution, SIGKILL);
    finish(execution, message, "");
}

void execution_close(struct execution *execution)
{
    signal_child(execution, SIGKILL);
    spare_close(&execution->child);
    explicit_bzero(execution->message.buf, execution->message.len);
    strbuf_reset(&execution->message);
    execution->sent = 0;
    execution->running = false;
    record_reader_release(&execution->records);
    record_reader_init(&execution->records);
    arena_release(&execution->arena);
    for (size_t i = 0; i < COUNT_OF(execution->streams); i++) {
        strbuf_reset(&execution->streams[i].held);
        strbuf_reset(&execution->streams[i].line);
    }
}
