/* keyturn exec: one script through one box.
 *
 * The executor is done at the result, but a script goes on after it, and whoever reads our output wants every event up
 * to script_done. So a tap stands between the two: it shows each event of the execution as it passes, hands the bytes
 * on to the executor, and goes on for a while when that has left. */

#include "base/arena.h"
#include "base/lines.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "cmd.h"
#include "exec_inside.h"
#include "sandbox/wire.h"
#include "say.h"
#include "secrets.h"
#include "stops.h"
#include <string.h>

#define EXECUTION_ID "exec-1" /* one execution per box: there is nothing to tell apart */

struct exec {
    struct loop *loop;
    struct pool *pool;
    struct pool_ticket *ticket;
    struct box *box;
    struct channel tap; /* what the executor takes for the box's channel */
    struct script_run *run;
    struct script_request request;
    struct lines lines;
    size_t notes_shown; /* bytes of what the box told of loading the tools */
    size_t left;        /* bytes that may still be shown */
    struct loop_timer after;
    struct exec_output out;
    const char *engine;
    bool told;   /* an error event was shown */
    bool given;  /* a result was */
    char *later; /* the error of a script that failed after its result */
    bool over;   /* script_done was */
    int stopped; /* by a signal: the status for it */
    char *error; /* of the result */
    int64_t duration_ms;
    int status;
};

/* The tap */

/* A tool that cannot be loaded is missing in the script: who reads of the error should read of its cause before it. The
 * notes are not the script's output, and not counted as such. */
static void show_notes(struct exec *exec)
{
    const char *notes = box_notes(exec->box);
    while (notes[exec->notes_shown]) {
        const char *line = notes + exec->notes_shown;
        size_t len = strcspn(line, "\n");
        exec_output_event(&exec->out, line, len);
        exec->notes_shown += len + 1;
    }
}

static bool on_line(void *user, const char *text, size_t len)
{
    struct exec *exec = user;
    struct wire_event event;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (!wire_read(&event, text, len) || !wire_is(event.execution_id, EXECUTION_ID, strlen(EXECUTION_ID), &arena))
        return true;
    enum wire_type type = wire_type_of(&event, &arena);
    exec->told |= type == WIRE_ERROR;
    exec->given |= type == WIRE_FINAL_RESULT;
    if (type == WIRE_ERROR && exec->given && !exec->later) {
        struct wire_field message = wire_text(event.message, "it says nothing", &arena);
        exec->later = xmemdup0(message.src, message.len);
    }
    exec->over |= type == WIRE_SCRIPT_DONE;
    exec_output_event(&exec->out, event.line, event.len);
    return !exec->over;
}

/* The executor has left with the result: nobody else says that the rest is cut off. */
static void note_cut(struct exec *exec)
{
    if (!exec->left && exec->given && !exec->over && !exec->later)
        exec->later = xasprintf("its output exceeded the limit of %zu bytes", exec->request.max_output_bytes);
}

static void tap_received(struct channel *under, const char *bytes, size_t len)
{
    struct exec *exec = under->listener;
    size_t shown = len < exec->left ? len : exec->left;
    exec->left -= shown;
    show_notes(exec);
    if (!exec->over)
        lines_feed(&exec->lines, bytes, shown, on_line, exec);
    note_cut(exec);
    if (output_flush(&exec->out.output) && exec->run)
        script_run_cancel(exec->run, "nobody reads");
    else if (exec->tap.received)
        exec->tap.received(&exec->tap, bytes, len);
    else if (exec->over || !exec->left)
        loop_stop(exec->loop);
}

static void tap_ended(struct channel *under)
{
    struct exec *exec = under->listener;
    if (exec->tap.ended)
        exec->tap.ended(&exec->tap);
    else
        loop_stop(exec->loop);
}

static struct exec *exec_of(struct channel *tap)
{
    return CONTAINER_OF(tap, struct exec, tap);
}

static int tap_write(struct channel *tap, const char *bytes, size_t len)
{
    struct channel *under = box_channel(exec_of(tap)->box);
    return under->ops->write(under, bytes, len);
}

static void tap_pause(struct channel *tap, bool paused)
{
    struct channel *under = box_channel(exec_of(tap)->box);
    under->ops->pause(under, paused);
}

static void tap_close(struct channel *tap)
{
    struct channel *under = box_channel(exec_of(tap)->box);
    under->ops->close(under);
}

static const struct channel_ops tap_ops = {.write = tap_write, .pause = tap_pause, .close = tap_close};

/* The run */

static void waited(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct exec, after)->loop);
}

static void on_done(void *user, struct script_result *result)
{
    struct exec *exec = user;
    exec->run = NULL;
    exec->status = result->success ? STATUS_DONE : STATUS_FAILED;
    exec->error = redact_copy(result->error);
    exec->duration_ms = result->duration_ms;
    /* What the script does after its result still counts as its time. */
    int64_t left_us = (int64_t)((exec->request.timeout_s + SCRIPT_GRACE_S) * 1e6) - result->duration_ms * 1000;
    bool cut = !exec->left; /* its end may have come already, among what is not read */
    if (exec->over || exec->stopped || exec->out.output.failed || !result->reusable || left_us <= 0 || cut)
        loop_stop(exec->loop);
    else
        loop_timer_start(exec->loop, &exec->after, loop_now_us(exec->loop) + left_us, waited);
}

static void on_box(void *user, struct box *box, const char *why)
{
    struct exec *exec = user;
    exec->ticket = NULL;
    exec->box = box;
    if (!box) {
        exec->status = exec_say_no_box(why);
        loop_stop(exec->loop);
        return;
    }
    show_notes(exec); /* flushed with the first event */
    struct channel *under = box_channel(box);
    under->received = tap_received;
    under->ended = tap_ended;
    under->listener = exec;
    exec->tap = (struct channel){.ops = &tap_ops, .ordered = under->ordered};
    struct script_listener listener = {.done = on_done, .user = exec};
    exec->run = script_run_start(exec->loop, &exec->tap, &exec->request, &listener);
}

static void stop(void *user, int status)
{
    struct exec *exec = user;
    exec->stopped = status;
    if (exec->run)
        script_run_cancel(exec->run, "interrupted"); /* `done` follows */
    else
        loop_stop(exec->loop);
}

static void run(struct exec *exec)
{
    struct stops stops = {.stopped = stop, .user = exec};
    stops_watch(&stops, exec->loop);
    exec->ticket = pool_take(exec->pool, on_box, exec);
    loop_run(exec->loop);
    loop_timer_stop(exec->loop, &exec->after);
    pool_free(exec->pool);
    stops_unwatch(&stops);
}

static void conclude(struct exec *exec)
{
    if (exec->out.readable && exec->box) {
        exec_output_end(&exec->out, exec->status == STATUS_DONE, exec->told ? NULL : exec->error, exec->duration_ms,
                        exec->engine);
        output_flush(&exec->out.output);
    } else if (exec->error) {
        exec_say_error(exec->error);
    }
    /* The result stands; who sees no event of it should know all the same. */
    if (exec->later && !exec->error && !(exec->out.readable && exec->told))
        say_notice("after its result the script failed: %.*s", (int)strcspn(exec->later, "\n"), exec->later);
}

static int exec_in(const struct sandbox *sandbox, const struct options *options, const struct strbuf *script)
{
    struct exec exec = {
        .loop = loop_new(clock_system()),
        .lines = LINES_INIT(0),
        .status = STATUS_USAGE,
        .request = exec_request(sandbox, options),
    };
    exec.request.execution_id = EXECUTION_ID;
    exec.request.script = script->buf;
    exec.request.script_len = script->len;
    exec.left = exec.request.max_output_bytes;
    exec_output_init(&exec.out);
    exec_output_script(&exec.out, script->buf);
    exec.pool = exec_open_pool(sandbox, exec.loop, 0);
    if (exec.pool) {
        exec.engine = sandbox->spec.engine->name;
        exec.status = STATUS_FAILED;
        run(&exec);
    }
    loop_free(exec.loop);
    if (!exec.stopped && !exec.out.output.failed)
        conclude(&exec);
    if (exec.out.output.failed)
        exec.status = output_say_failed(&exec.out.output);
    free(exec.error);
    free(exec.later);
    lines_release(&exec.lines);
    exec_output_release(&exec.out);
    return exec.stopped ? exec.stopped : exec.status;
}

/* What only a script that is written needs. */
static int check_options(const struct options *options)
{
    const char *idle = options->model           ? "model"
                       : options->attempts >= 0 ? "attempts"
                       : options->config        ? "config"
                                                : NULL;
    if (options->ask && options->operand)
        return say_error(STATUS_USAGE, "--ask has the script written by a model (leave %s out)",
                         strcmp(options->operand, "-") == 0 ? "-" : "FILE");
    if (!options->ask && idle)
        return say_error(STATUS_USAGE, "--%s goes with --ask TEXT (a script that is there needs no model)", idle);
    if (output_closed)
        return say_error(STATUS_FAILED, "standard output is closed: nothing could be printed (send it to a file)");
    return 0;
}

int cmd_exec(const struct options *options)
{
    struct sandbox sandbox;
    CLEANUP(strbuf) struct strbuf script = STRBUF_INIT;
    int status = check_options(options);
    if (status || options->ask)
        return status ? status : exec_ask(options);
    secrets_declare(options, NULL);
    status = sandbox_open(&sandbox, options);
    if (!status)
        status = exec_read_script(options->operand, &script);
    if (!status)
        status = exec_in(&sandbox, options, &script);
    sandbox_close(&sandbox);
    return status;
}
