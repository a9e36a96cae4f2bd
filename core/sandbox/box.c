/* A box: one running harness, its pipes and its end.
 *
 * States: starting (read stdout line by line until a `ready` event), ready (pass bytes to the listener of the channel),
 * gone. Lines before `ready` that are not events are noise, such as the greeting of a remote machine.
 *
 * After `ready`, and whenever the harness reloads the tools, it sends notes: `log` events without an execution, with
 * what the files of the tools printed or why they failed. The box keeps them. They do not count as noise.
 *
 * The box counts requests as they are written and script_done events as they pass. A listener may leave after the
 * result, but the harness is free only when the script has ended too.
 *
 * Functions call a listener last, because the listener may free the box. */

#include "box.h"
#include "base/arena.h"
#include "base/child.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "engines_program.h"
#include "wire.h"
#include <errno.h>
#include <string.h>

#define COMPLAINTS_KEPT 4096u  /* last bytes of stderr that the box keeps */
#define NOTES_KEPT      16384u /* first bytes of notes that the box keeps */
#define NO_EXECUTION    "\"execution_id\":null"
#define READY_LINE_MAX  (1u << 20)
#define NOISE_MAX       (4u << 20) /* bytes allowed before `ready` */
#define DONE_LINE_MAX   4096u
#define LEAVE_US        1000000 /* time for the process to exit after its stdout has ended */

struct box {
    struct channel channel;
    struct loop *loop;
    struct box_listener listener;
    char *name, *engine, *folder, *layers, *retry_on;
    char *image; /* NULL: the engine has no image */
    bool ends_with_us, remote;
    char **argv, **retry, **stop, **env;
    struct process *process;
    struct lines lines;
    struct strbuf complaints, notes;
    struct loop_timer limit;
    struct loop_task telling;
    char *why;      /* set when the box has ended */
    size_t pending; /* requests without their script_done */
    size_t noise;   /* bytes received before `ready` */
    size_t ignored; /* bytes received without a listener, except notes */
    bool ready;
    bool noting; /* only notes have come since `ready` */
    bool closed; /* by the holder of the channel: the box reads no more */
    bool ended;  /* stdout has ended */
    bool too_late;
    bool missing; /* the engine's program is not in PATH */
};

static void launch(struct box *box);

static struct box *box_of(struct channel *channel)
{
    return CONTAINER_OF(channel, struct box, channel);
}

/* ---- the channel ---- */

static int on_write(struct channel *channel, const char *bytes, size_t len)
{
    struct box *box = box_of(channel);
    if (!box->process || box->ended || box->closed)
        return -1;
    for (const char *at = bytes; (at = memchr(at, '\n', len - (size_t)(at - bytes))); at++)
        box->pending++;
    process_write(box->process, bytes, len);
    return 0;
}

static void on_pause(struct channel *channel, bool paused)
{
    if (box_of(channel)->process)
        process_pause(box_of(channel)->process, paused);
}

static void on_close(struct channel *channel)
{
    struct box *box = box_of(channel);
    box->closed = true;
    if (box->process) {
        process_pause(box->process, false); /* read and drop the rest, so that the box sees the end of the stream */
        process_kill(box->process, 0);
    }
}

static const struct channel_ops ops = {.write = on_write, .pause = on_pause, .close = on_close};

/* ---- the end ---- */

static void tell_gone(struct loop_task *task)
{
    struct box *box = CONTAINER_OF(task, struct box, telling);
    box->listener.gone(box->listener.user, box, box->why);
}

char *box_complaints_line(const struct box *box)
{
    return engine_stderr_line(box->complaints.buf, box->complaints.len);
}

static char *explain(const struct box *box, const struct process_end *end)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(free) char *cause = box->ready ? NULL : engine_stderr_cause(box->complaints.buf, box->image);
    if (cause)
        strbuf_addf(&text, "%s: ", cause);
    if (box->noise > NOISE_MAX)
        strbuf_addf(&text, "%s printed more than %u MB, but no ready event", box->engine, NOISE_MAX >> 20);
    else if (box->too_late)
        strbuf_addf(&text, "%s was not ready within %d s", box->engine, BOX_READY_S);
    else if (box->closed)
        strbuf_addf(&text, "%s was ended", box->engine);
    else if (end->signum)
        strbuf_addf(&text, "%s was killed by signal %d%s", box->engine, end->signum,
                    box->ready ? "" : " before it was ready");
    else
        strbuf_addf(&text, "%s ended with status %d%s", box->engine, end->exit_code,
                    box->ready ? "" : " before it was ready");
    CLEANUP(free) char *complaints = box_complaints_line(box);
    if (complaints)
        strbuf_addf(&text, ": %s", complaints);
    return strbuf_detach(&text, NULL);
}

static void box_ended(void *user, const struct process_end *end)
{
    struct box *box = user;
    process_free(steal(&box->process));
    if (!box->ready && !box->too_late && !end->signum && box->retry && strstr(box->complaints.buf, box->retry_on)) {
        argv_free(box->argv);
        box->argv = steal(&box->retry);
        strbuf_reset(&box->complaints);
        lines_release(&box->lines);
        box->ended = false;
        launch(box);
        return;
    }
    loop_timer_stop(box->loop, &box->limit);
    box->why = explain(box, end);
    box->listener.gone(box->listener.user, box, box->why);
}

static void on_limit(struct loop_timer *timer)
{
    struct box *box = CONTAINER_OF(timer, struct box, limit);
    box->too_late |= !box->ended;
    if (box->process)
        process_kill(box->process, 0); /* `ended` reports the end soon */
}

/* ---- input from the harness ---- */

struct first_line {
    struct box *box;
    struct arena *arena;
    const struct json *ready;
};

static bool on_first_line(void *user, const char *text, size_t len)
{
    struct first_line *first = user;
    const struct json *event = json_parse(first->arena, text, len, NULL);
    if (strcmp(json_str(json_get(event, "type"), ""), "ready") == 0)
        first->ready = event;
    return !first->ready;
}

static void complain(struct box *box, const char *bytes, size_t len)
{
    struct strbuf *kept = &box->complaints;
    strbuf_add(kept, bytes, len);
    if (kept->len > COMPLAINTS_KEPT) {
        memmove(kept->buf, kept->buf + kept->len - COMPLAINTS_KEPT, COMPLAINTS_KEPT);
        strbuf_set_len(kept, COMPLAINTS_KEPT);
    }
}

/* Stores the line and returns true if it is a note. */
static bool take_note(struct box *box, const char *text, size_t len)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct wire_event event;
    if (!wire_read(&event, text, len) || wire_type_of(&event, &arena) != WIRE_LOG ||
        (event.execution_id.src && *event.execution_id.src != 'n'))
        return false;
    struct wire_field message = wire_text(event.message, "", &arena);
    complain(box, message.src, message.len);
    complain(box, "\n", 1);
    if (box->notes.len + event.len < NOTES_KEPT) {
        strbuf_add(&box->notes, event.line, event.len);
        strbuf_addch(&box->notes, '\n');
    }
    return true;
}

/* Most lines are intermediates: neither a note nor an end. */
static bool is_intermediate(const char *text, size_t len)
{
    static const char begins[] = "{\"type\":\"intermediate\",";
    return len >= sizeof(begins) && memcmp(text, begins, sizeof(begins) - 1) == 0;
}

static bool on_box_line(void *user, const char *text, size_t len)
{
    struct box *box = user;
    if (!box->noting && is_intermediate(text, len))
        return true;
    if (!box->noting && memmem(text, len, NO_EXECUTION, sizeof(NO_EXECUTION) - 1) && take_note(box, text, len)) {
        box->ignored -= len + 1 < box->ignored ? len + 1 : box->ignored; /* the note was counted on arrival */
        return true;
    }
    if (box->noting) {
        if (take_note(box, text, len))
            return true;
        box->noting = false;
        box->lines.limit = DONE_LINE_MAX;
        if (!box->pending)
            box->ignored += len + 1;
    }
    if (!box->pending || len > DONE_LINE_MAX || !memmem(text, len, "script_done", 11))
        return true;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *event = json_parse(&arena, text, len, NULL);
    if (strcmp(json_str(json_get(event, "type"), ""), "script_done") == 0)
        box->pending--;
    return true;
}

static void receive_first(struct box *box, const char *bytes, size_t len)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct first_line first = {.box = box, .arena = &arena};
    size_t used = lines_feed(&box->lines, bytes, len, on_first_line, &first);
    if (!first.ready) {
        box->noise += len;
        if (box->noise > NOISE_MAX)
            process_kill(box->process, 0); /* `ended` reports the end soon */
        return;
    }
    box->noise = 0;
    lines_release(&box->lines);
    box->ready = box->noting = true;
    box->channel.ordered = json_bool(json_get(first.ready, "ordered"), false);
    const struct json *layers = json_get(first.ready, "sandbox");
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (layers)
        json_write(&text, layers, JSON_COMPACT);
    box->layers = text.len ? strbuf_detach(&text, NULL) : xstrdup("{}");
    loop_timer_stop(box->loop, &box->limit);
    lines_feed(&box->lines, bytes + used, len - used, on_box_line, box);
    box->listener.ready(box->listener.user, box, first.ready);
}

static void receive(struct box *box, const char *bytes, size_t len)
{
    bool asked = box->pending, noting = box->noting;
    if (!asked && !noting)
        box->ignored += len;
    lines_feed(&box->lines, bytes, len, on_box_line, box);
    if (box->channel.received)
        box->channel.received(&box->channel, bytes, len);
    else if (asked && !box->pending && box->listener.idle)
        box->listener.idle(box->listener.user, box);
}

static void box_output(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    struct box *box = user;
    if (stream == PROCESS_STDERR)
        complain(box, bytes, len);
    if (stream == PROCESS_STDERR || box->closed)
        return;
    if (!len) {
        box->ended = true;
        /* A harness without stdout is of no use. Most exit at once, and then the exit status says more than our kill
         * would. */
        loop_timer_start(box->loop, &box->limit, loop_now_us(box->loop) + LEAVE_US, on_limit);
        if (box->channel.ended)
            box->channel.ended(&box->channel);
        return;
    }
    if (!box->ready)
        receive_first(box, bytes, len);
    else
        receive(box, bytes, len);
}

/* ---- start and end ---- */

static const struct process_ops process_ops = {.output = box_output, .ended = box_ended};

/* Resolves the program with Keyturn's own PATH, because the child may get another PATH and start in another folder. */
static void launch(struct box *box)
{
    CLEANUP(free) char *program = child_find_program(box->argv[0], NULL);
    bool found = program != NULL;
    char *path = program && program[0] != '/' ? realpath(program, NULL) : steal(&program);
    if (path) {
        free(box->argv[0]);
        box->argv[0] = path;
    }
    struct err err = ERR_INIT;
    struct process_spec spec = {
        .argv = (const char *const *)box->argv,
        .env = (const char *const *)box->env,
        .cwd = box->folder,
        .keep_input = true,
        .ends_with_us = box->ends_with_us,
        .gentle = box->remote,       /* the other machine needs time to remove the workspace */
        .keep_keyring = box->remote, /* ssh may need the user's Kerberos ticket to reach the other machine */
        .stop_argv = (const char *const *)box->stop,
        .stop_env = (const char *const *)box->env,
    };
    box->process = process_start(box->loop, &spec, &process_ops, box, &err);
    if (box->process)
        return;
    box->why = xstrdup(err.text);
    box->missing = !found && err.code == ENOENT;
    loop_timer_stop(box->loop, &box->limit);
    loop_post(box->loop, &box->telling, tell_gone);
}

struct box *box_start(struct loop *loop, const struct box_options *spec, const char *name,
                      const struct box_listener *listener, struct err *err)
{
    const struct sandbox_engine *engine = spec->engine;
    char **argv = sandbox_engine_argv(engine, spec, name, false, err);
    if (!argv)
        return NULL;
    struct box *box = xcalloc(1, sizeof(*box));
    box->channel.ops = &ops;
    box->loop = loop;
    box->listener = *listener;
    box->name = xstrdup(name);
    box->engine = xstrdup(engine->name);
    box->ends_with_us = engine->ends_with_us;
    box->remote = engine->remote;
    box->argv = argv;
    box->stop = sandbox_engine_stop(engine, spec, name);
    box->env = sandbox_engine_env(engine, spec);
    if (engine->retry) {
        box->retry = sandbox_engine_argv(engine, spec, name, true, NULL);
        box->retry_on = xstrdup(engine->retry_on);
    }
    box->folder = spec->folder ? xstrdup(spec->folder) : NULL;
    if (sandbox_engine_uses(engine, "image"))
        box->image = xstrdup(spec->image ? spec->image : BOX_IMAGE);
    box->lines = (struct lines)LINES_INIT(READY_LINE_MAX);
    strbuf_init(&box->complaints);
    strbuf_init(&box->notes);
    loop_timer_start(loop, &box->limit, loop_now_us(loop) + BOX_READY_S * INT64_C(1000000), on_limit);
    launch(box);
    return box;
}

struct channel *box_channel(struct box *box)
{
    return &box->channel;
}

const char *box_name(const struct box *box)
{
    return box->name;
}

bool box_is_missing(const struct box *box)
{
    return box->missing;
}

const char *box_layers(const struct box *box)
{
    return box->layers;
}

const char *box_stderr(const struct box *box)
{
    return box->complaints.buf;
}

const char *box_notes(const struct box *box)
{
    return box->notes.buf;
}

bool box_is_idle(const struct box *box)
{
    return box->pending == 0;
}

bool box_kept_still(struct box *box)
{
    bool still = box->ignored == 0;
    box->ignored = 0;
    return still;
}

void box_free(struct box *box)
{
    if (!box)
        return;
    loop_timer_stop(box->loop, &box->limit);
    loop_unpost(box->loop, &box->telling);
    process_free(box->process);
    lines_release(&box->lines);
    strbuf_release(&box->complaints);
    strbuf_release(&box->notes);
    free(box->name);
    free(box->engine);
    free(box->folder);
    free(box->image);
    free(box->layers);
    free(box->retry_on);
    free(box->why);
    argv_free(box->argv);
    argv_free(box->retry);
    argv_free(box->stop);
    argv_free(box->env);
    free(box);
}
