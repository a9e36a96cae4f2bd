/* keyturn exec: one script through one box.
 *
 * The executor is done at the result, but a script goes on after it, and whoever reads our output wants every event up
 * to script_done. So a tap stands between the two: it shows each event of the execution as it passes, hands the bytes
 * on to the executor, and goes on for a while when that has left. */

#include "base/arena.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "cmd.h"
#include "exec_account.h"
#include "output.h"
#include "plain.h"
#include "sandbox.h"
#include "sandbox/executor.h"
#include "sandbox/lines.h"
#include "sandbox/wire.h"
#include "say.h"
#include "secrets.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define SCRIPT_BYTES_MAX (16u << 20)
#define EXECUTION_ID     "exec-1" /* one execution per box: there is nothing to tell apart */

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
    struct output output;
    struct exec_account account;
    const char *engine;
    bool readable;
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

static void show_event(struct exec *exec, const char *line, size_t len)
{
    if (exec->readable) {
        exec_account_event(&exec->account, &exec->output.text, line, len);
    } else {
        strbuf_add(&exec->output.text, line, len);
        strbuf_addch(&exec->output.text, '\n');
    }
}

/* A tool that cannot be loaded is missing in the script: who reads of the error should read of its cause before it. The
 * notes are not the script's output, and not counted as such. */
static void show_notes(struct exec *exec)
{
    const char *notes = box_notes(exec->box);
    while (notes[exec->notes_shown]) {
        const char *line = notes + exec->notes_shown;
        size_t len = strcspn(line, "\n");
        show_event(exec, line, len);
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
    show_event(exec, event.line, event.len);
    return !exec->over;
}

static void tap_received(struct channel *under, const char *bytes, size_t len)
{
    struct exec *exec = under->listener;
    size_t shown = len < exec->left ? len : exec->left;
    exec->left -= shown;
    show_notes(exec);
    if (!exec->over)
        lines_feed(&exec->lines, bytes, shown, on_line, exec);
    if (output_flush(&exec->output) && exec->run)
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
    exec->error = steal(&result->error);
    exec->duration_ms = result->duration_ms;
    /* What the script does after its result still counts as its time. */
    int64_t left_us = (int64_t)((exec->request.timeout_s + SCRIPT_GRACE_S) * 1e6) - result->duration_ms * 1000;
    if (exec->over || exec->stopped || exec->output.failed || !result->reusable || left_us <= 0)
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
        exec->status = say_error(STATUS_USAGE, "the script could not be run: %s (keyturn engines tells more)", why);
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

static void stop(struct exec *exec, int status)
{
    exec->stopped = status;
    if (exec->run)
        script_run_cancel(exec->run, "interrupted"); /* `done` follows */
    else
        loop_stop(exec->loop);
}

static void interrupted(void *data)
{
    stop(data, STATUS_INTERRUPTED);
}

static void terminated(void *data)
{
    stop(data, STATUS_TERMINATED);
}

static void hung_up(void *data)
{
    stop(data, STATUS_HUNG_UP);
}

static void run(struct exec *exec)
{
    static const struct {
        int signum;
        void (*caught)(void *data);
    } signals[] = {{SIGINT, interrupted}, {SIGTERM, terminated}, {SIGHUP, hung_up}};
    struct loop_watch *watches[COUNT_OF(signals)];
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        watches[i] = loop_watch_signal(exec->loop, signals[i].signum, signals[i].caught, exec);
    exec->ticket = pool_take(exec->pool, on_box, exec);
    loop_run(exec->loop);
    loop_timer_stop(exec->loop, &exec->after);
    pool_free(exec->pool);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_watch_free(watches[i]);
}

/* An error of several lines begins with the one that says most. */
static char *first_line(const char *error)
{
    return xmemdup0(error, strcspn(error, "\n"));
}

static void conclude(struct exec *exec)
{
    if (exec->readable && exec->box) {
        exec_account_end(&exec->account, &exec->output.text, exec->status == STATUS_DONE,
                         exec->told ? NULL : exec->error, exec->duration_ms, exec->engine);
        output_flush(&exec->output);
    } else if (exec->error) {
        CLEANUP(free) char *line = first_line(exec->error);
        say_error(STATUS_FAILED, "%s", line);
    } else if (exec->later) { /* the result stands; who reads no events should know all the same */
        CLEANUP(free) char *line = first_line(exec->later);
        say_notice("after its result the script failed: %s", line);
    }
}

/* The script */

static int read_script(const char *operand, struct strbuf *script)
{
    struct err err = ERR_INIT;
    if (operand && strcmp(operand, "-") != 0)
        return file_read(operand, script, SCRIPT_BYTES_MAX, &err) ? say_file_error(STATUS_USAGE, operand, &err) : 0;
    if (!operand && isatty(STDIN_FILENO))
        return say_error(STATUS_USAGE, "keyturn exec needs a script (keyturn exec FILE, or pipe it in)");
    if (strbuf_read(script, STDIN_FILENO, SCRIPT_BYTES_MAX))
        return say_error(STATUS_USAGE, "cannot read the script from standard input: %s",
                         errno == EFBIG ? "it is larger than 16 MiB" : strerror(errno));
    return 0;
}

static int exec_in(const struct sandbox *sandbox, const struct options *options, const struct strbuf *script)
{
    struct exec exec = {
        .loop = loop_new(clock_system()),
        .lines = LINES_INIT(0),
        .status = STATUS_FAILED,
        .readable = isatty(STDOUT_FILENO),
        .account = {.script = script->buf, .colour = plain_style_for(STDOUT_FILENO).colour},
        .request =
            {
                .execution_id = EXECUTION_ID,
                .script = script->buf,
                .script_len = script->len,
                .mode = options->mode ? (enum script_mode)script_mode_from_name(options->mode) : SCRIPT_PLAN,
                .timeout_s = isnan(options->timeout) ? SCRIPT_TIMEOUT_S : options->timeout,
                .max_output_bytes = options->max_output > 0 ? (size_t)options->max_output : SCRIPT_OUTPUT_BYTES,
                .secrets = sandbox->spec.secrets,
            },
    };
    exec.left = exec.request.max_output_bytes;
    output_init(&exec.output, STDOUT_FILENO);
    exec.pool = sandbox_pool(sandbox, exec.loop, 0, 1);
    if (exec.pool) {
        exec.engine = sandbox->spec.engine->name;
        if (sandbox->spec.engine->unsafe)
            say_notice("--engine %s is UNSAFE: nothing holds the script but the layers of the harness itself",
                       exec.engine);
        run(&exec);
    } else {
        exec.status = say_error(STATUS_USAGE, "no sandbox is installed (install bubblewrap, or see keyturn engines)");
    }
    loop_free(exec.loop);
    if (!exec.stopped && !exec.output.failed)
        conclude(&exec);
    if (exec.output.failed)
        exec.status = output_say_failed(&exec.output);
    free(exec.error);
    free(exec.later);
    lines_release(&exec.lines);
    output_release(&exec.output);
    return exec.stopped ? exec.stopped : exec.status;
}

int cmd_exec(const struct options *options)
{
    if (!isnan(options->timeout) && !(options->timeout >= 1 && options->timeout <= 1e6))
        return say_error(STATUS_USAGE, "--timeout must be 1 second or more, and not beyond reason");
    struct sandbox sandbox;
    CLEANUP(strbuf) struct strbuf script = STRBUF_INIT;
    secrets_declare(options, NULL);
    int status = sandbox_open(&sandbox, options);
    if (!status)
        status = read_script(options->operand, &script);
    if (!status)
        status = exec_in(&sandbox, options, &script);
    sandbox_close(&sandbox);
    return status;
}
