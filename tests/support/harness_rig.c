/* Starts a real keyturn-harness and speaks its protocol. */

#include "harness_rig.h"
#include "base/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void harness_rig_init(struct harness_rig *rig, const char *program)
{
    const char *other = getenv("KEYTURN_HARNESS");
    *rig = (struct harness_rig){
        .program = other ? other : program, .elsewhere = other, .in = -1, .out = -1, .err = -1, .pending = STRBUF_INIT};
    scratch_init(&rig->scratch);
    scratch_mkdir(&rig->scratch, "tools");
    scratch_mkdir(&rig->scratch, "work");
}

static _Noreturn void become_harness(const struct harness_rig *rig, int in, int out, int err)
{
    CLEANUP(free) char *tools = xasprintf("--tools=%s/tools", rig->scratch.path);
    CLEANUP(free) char *work = xasprintf("--workspace=%s/work", rig->scratch.path);
    char *arguments[COUNT_OF(rig->options) + 4] = {"keyturn-harness", tools, work};
    char *environment[COUNT_OF(rig->env) + 2] = {"PATH=/usr/bin:/bin"};
    for (size_t i = 0; i < COUNT_OF(rig->options) && rig->options[i]; i++)
        arguments[3 + i] = xstrdup(rig->options[i]);
    for (size_t i = 0; i < COUNT_OF(rig->env) && rig->env[i]; i++)
        environment[1 + i] = xstrdup(rig->env[i]);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(127);
    if (rig->before)
        rig->before();
    execve(rig->program, arguments, environment);
    _exit(127);
}

void harness_rig_launch(struct harness_rig *rig)
{
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        BUG("no pipe: %s", strerror(errno));
    signal(SIGPIPE, SIG_IGN);
    rig->pid = fork();
    if (rig->pid == 0)
        become_harness(rig, in[0], out[1], err[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    rig->in = in[1];
    rig->out = out[0];
    rig->err = err[0];
    strbuf_reset(&rig->pending);
}

void harness_rig_start(struct harness_rig *rig)
{
    harness_rig_launch(rig);
    rig->ready = harness_rig_event(rig);
    if (!rig->ready)
        BUG("%s ended instead of getting ready", rig->program);
    if (strcmp(json_str(json_get(rig->ready, "type"), ""), "ready") != 0)
        BUG("%.*s instead of ready", (int)rig->ready->src_len, rig->ready->src);
}

void harness_rig_send(struct harness_rig *rig, const char *text, size_t len)
{
    while (len) {
        ssize_t count = write(rig->in, text, len);
        if (count < 0 && errno != EINTR)
            BUG("the harness does not read: %s", strerror(errno));
        text += count > 0 ? count : 0;
        len -= count > 0 ? (size_t)count : 0;
    }
}

/* Removes the first line from the pending bytes. */
static const struct json *take_line(struct harness_rig *rig, size_t len)
{
    struct err err = ERR_INIT;
    char *line = arena_memdup0(&rig->arena, rig->pending.buf, len);
    const struct json *event = json_parse(&rig->arena, line, len, &err);
    if (!event || event->type != JSON_OBJECT)
        BUG("no event: %s (%.200s)", err.text, line);
    memmove(rig->pending.buf, rig->pending.buf + len + 1, rig->pending.len - len - 1);
    strbuf_set_len(&rig->pending, rig->pending.len - len - 1);
    return event;
}

/* Returns true with NULL at the end of the stream, false if nothing came in time. */
static bool wait_event(struct harness_rig *rig, int ms, const struct json **event)
{
    char chunk[65536];
    size_t seen = 0;
    for (;;) {
        struct pollfd ready = {.fd = rig->out, .events = POLLIN};
        const char *newline = memchr(rig->pending.buf + seen, '\n', rig->pending.len - seen);
        *event = NULL;
        if (newline) {
            *event = take_line(rig, (size_t)(newline - rig->pending.buf));
            return true;
        }
        seen = rig->pending.len;
        if (poll(&ready, 1, ms) <= 0)
            return false;
        ssize_t count = read(rig->out, chunk, sizeof(chunk));
        if (count <= 0)
            return true;
        strbuf_add(&rig->pending, chunk, (size_t)count);
    }
}

const struct json *harness_rig_event(struct harness_rig *rig)
{
    const struct json *event;
    if (!wait_event(rig, HARNESS_PATIENCE_MS, &event))
        BUG("the harness said nothing for %d ms", HARNESS_PATIENCE_MS);
    return event;
}

const struct json *harness_rig_event_within(struct harness_rig *rig, int ms)
{
    const struct json *event;
    return wait_event(rig, ms, &event) ? event : NULL;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int harness_rig_wait(struct harness_rig *rig)
{
    int status = 0;
    for (int ms = 0; waitpid(rig->pid, &status, WNOHANG) == 0; ms += 5) {
        if (ms > HARNESS_PATIENCE_MS)
            BUG("the harness does not end");
        usleep(5000);
    }
    rig->pid = 0;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int harness_rig_end(struct harness_rig *rig)
{
    close_fd(&rig->in);
    return harness_rig_wait(rig);
}

void harness_rig_release(struct harness_rig *rig)
{
    if (rig->pid > 0) {
        kill(rig->pid, SIGKILL);
        waitpid(rig->pid, NULL, 0);
    }
    close_fd(&rig->in);
    close_fd(&rig->out);
    close_fd(&rig->err);
    strbuf_release(&rig->pending);
    arena_release(&rig->arena);
    scratch_release(&rig->scratch);
}

/* ---- events as text ---- */

char *harness_request(const char *id, const char *script, double timeout, const char *more)
{
    struct strbuf line = STRBUF_INIT;
    struct json_writer w = json_begin(&line);
    json_open(&w, NULL, '{');
    json_add_str(&w, "execution_id", id);
    json_add_str(&w, "script", script);
    json_add_num(&w, "timeout", timeout);
    json_add_str(&w, "mode", "PLAN");
    if (more)
        strbuf_addf(&line, ",%s", more);
    json_close(&w, '}');
    strbuf_addch(&line, '\n');
    return strbuf_detach(&line, NULL);
}

void harness_tell(struct strbuf *out, const struct json *event)
{
    const char *type = json_str(json_get(event, "type"), "?");
    if (strcmp(type, "log") == 0) {
        strbuf_addf(out, "log %s %s", json_str(json_get(event, "level"), "?"),
                    json_str(json_get(event, "message"), "?"));
    } else if (strcmp(type, "intermediate") == 0) {
        strbuf_addf(out, "intermediate %s ", json_str(json_get(event, "label"), "?"));
        json_write(out, json_get(event, "data"), JSON_COMPACT);
    } else if (strcmp(type, "final_result") == 0) {
        strbuf_addstr(out, "result ");
        json_write(out, json_get(event, "data"), JSON_COMPACT);
    } else if (strcmp(type, "error") == 0) {
        strbuf_addf(out, "error %s", json_str(json_get(event, "message"), "?"));
    } else {
        strbuf_addstr(out, strcmp(type, "script_done") == 0 ? "done" : type);
    }
    strbuf_addch(out, '\n');
}

const char *harness_says_with(struct harness_rig *rig, const char *script, double timeout, const char *more)
{
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    CLEANUP(free) char *id = xasprintf("r%u", ++rig->count);
    CLEANUP(free) char *line = harness_request(id, script, timeout, more);
    const char *type;
    rig->message = rig->traceback = NULL;
    harness_rig_send(rig, line, strlen(line));
    do {
        const struct json *event = harness_rig_event(rig);
        if (!event)
            BUG("the harness ended during a script:\n%s", script);
        if (strcmp(json_str(json_get(event, "execution_id"), ""), id) != 0)
            BUG("an event of another execution: %.*s", (int)event->src_len, event->src);
        type = json_str(json_get(event, "type"), "");
        if (strcmp(type, "error") == 0) {
            rig->message = json_str(json_get(event, "message"), NULL);
            rig->traceback = json_str(json_get(event, "traceback"), NULL);
        }
        harness_tell(&told, event);
    } while (strcmp(type, "script_done") != 0);
    return arena_memdup0(&rig->arena, told.buf, told.len);
}

const char *harness_says(struct harness_rig *rig, const char *script, double timeout)
{
    return harness_says_with(rig, script, timeout, NULL);
}
