/* keyturn exec: runs one script in one sandbox.
 *
 * The executor is done when it has the result. The script may continue after that, and the output must have every event
 * up to script_done. So a tap sits between the sandbox and the executor. It prints each event of the execution, passes
 * the bytes to the executor, and continues for a while after the executor is done. */

#include "exec.h"
#include "app/cli_error.h"
#include "app/setup.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "options.h"
#include "sandbox/wire.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXECUTION_ID "exec-1" /* one execution per sandbox, so one id is enough */

struct exec_run {
    struct loop *loop;
    struct pool *pool;
    struct pool_ticket *ticket;
    struct box *box;
    struct channel tap; /* the executor uses this as the channel of the sandbox */
    struct script_run *run;
    struct script_request request;
    struct lines lines;
    size_t notes_shown; /* bytes of the sandbox's notes on loading the tools that were printed */
    size_t left;        /* bytes that may still be printed */
    struct loop_timer after;
    struct exec_output out;
    const char *engine;
    bool told;   /* an error event was printed */
    bool given;  /* a result was printed */
    char *later; /* error of a script that failed after its result */
    bool over;   /* script_done was printed */
    int stopped; /* exit status for the signal that arrived; 0: none */
    char *error; /* error of the result */
    int64_t duration_ms;
    int status;
};

/* ---- the tap ---- */

/* Prints notes about tools that could not be loaded, before the errors they cause in the script. Notes are not output
 * of the script and do not count as such. */
static void show_notes(struct exec_run *exec)
{
    const char *notes = box_notes(exec->box);
    while (notes[exec->notes_shown]) {
        const char *line = notes + exec->notes_shown;
        size_t len = strcspn(line, "\n");
        exec_output_event(&exec->out, line, len);
        exec->notes_shown += len + 1;
    }
}

static bool on_exec_line(void *user, const char *text, size_t len)
{
    struct exec_run *exec = user;
    struct wire_event event;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (!wire_read(&event, text, len) || !wire_is(event.execution_id, EXECUTION_ID, strlen(EXECUTION_ID), &arena))
        return true;
    enum wire_type type = wire_type_of(&event, &arena);
    exec->told |= type == WIRE_ERROR;
    exec->given |= type == WIRE_FINAL_RESULT;
    if (type == WIRE_ERROR && exec->given && !exec->later) {
        struct wire_field message = wire_text(event.message, "no output", &arena);
        exec->later = xmemdup0(message.src, message.len);
    }
    exec->over |= type == WIRE_SCRIPT_DONE;
    exec_output_event(&exec->out, event.line, event.len);
    return !exec->over;
}

/* Prints that the rest was cut off. The executor is already done, so only this function reports it. */
static void note_cut(struct exec_run *exec)
{
    if (!exec->left && exec->given && !exec->over && !exec->later)
        exec->later = xasprintf("its output exceeded the limit of %zu bytes", exec->request.max_output_bytes);
}

static void tap_received(struct channel *under, const char *bytes, size_t len)
{
    struct exec_run *exec = under->listener;
    size_t shown = len < exec->left ? len : exec->left;
    exec->left -= shown;
    show_notes(exec);
    if (!exec->over)
        lines_feed(&exec->lines, bytes, shown, on_exec_line, exec);
    note_cut(exec);
    if (cli_out_flush(&exec->out.output) && exec->run)
        script_run_cancel(exec->run, "the output is closed");
    else if (exec->tap.received)
        exec->tap.received(&exec->tap, bytes, len);
    else if (exec->over || !exec->left)
        loop_stop(exec->loop);
}

static void tap_ended(struct channel *under)
{
    struct exec_run *exec = under->listener;
    if (exec->tap.ended)
        exec->tap.ended(&exec->tap);
    else
        loop_stop(exec->loop);
}

static struct exec_run *exec_of(struct channel *tap)
{
    return CONTAINER_OF(tap, struct exec_run, tap);
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

/* ---- the run ---- */

static void waited(struct loop_timer *timer)
{
    loop_stop(CONTAINER_OF(timer, struct exec_run, after)->loop);
}

static void on_exec_done(void *user, struct script_result *result)
{
    struct exec_run *exec = user;
    exec->run = NULL;
    exec->status = result->success ? STATUS_DONE : STATUS_FAILED;
    exec->error = redact_copy(result->error);
    exec->duration_ms = result->duration_ms;
    /* Time the script uses after its result still counts against its timeout. */
    int64_t left_us = (int64_t)((exec->request.timeout_s + SCRIPT_GRACE_S) * 1e6) - result->duration_ms * 1000;
    bool cut = !exec->left; /* its end may be among the bytes that are not read */
    if (exec->over || exec->stopped || exec->out.output.failed || !result->reusable || left_us <= 0 || cut)
        loop_stop(exec->loop);
    else
        loop_timer_start(exec->loop, &exec->after, loop_now_us(exec->loop) + left_us, waited);
}

static void on_exec_box(void *user, struct box *box, const char *why)
{
    struct exec_run *exec = user;
    exec->ticket = NULL;
    exec->box = box;
    if (!box) {
        exec->status = exec_no_box_error(why);
        loop_stop(exec->loop);
        return;
    }
    show_notes(exec); /* flushed with the first event */
    struct channel *under = box_channel(box);
    under->received = tap_received;
    under->ended = tap_ended;
    under->listener = exec;
    exec->tap = (struct channel){.ops = &tap_ops, .ordered = under->ordered};
    struct script_listener listener = {.done = on_exec_done, .user = exec};
    exec->run = script_run_start(exec->loop, &exec->tap, &exec->request, &listener);
}

static void stop(void *user, int status)
{
    struct exec_run *exec = user;
    exec->stopped = status;
    if (exec->run)
        script_run_cancel(exec->run, "interrupted"); /* `done` follows */
    else
        loop_stop(exec->loop);
}

static void run(struct exec_run *exec)
{
    struct signals stops = {.stopped = stop, .user = exec};
    signals_watch(&stops, exec->loop);
    exec->ticket = pool_take(exec->pool, on_exec_box, exec);
    loop_run(exec->loop);
    loop_timer_stop(exec->loop, &exec->after);
    pool_free(exec->pool);
    signals_unwatch(&stops);
}

static void conclude(struct exec_run *exec)
{
    if (exec->out.readable && exec->box) {
        exec_output_end(&exec->out, exec->status == STATUS_DONE, exec->told ? NULL : exec->error, exec->duration_ms,
                        exec->engine);
        cli_out_flush(&exec->out.output);
    } else if (exec->error) {
        exec_say_error(exec->error);
    }
    /* The result is valid. Report the later error, because the user saw no event about it. */
    if (exec->later && !exec->error && !(exec->out.readable && exec->told))
        cli_notice("the script failed after its result: %.*s", (int)strcspn(exec->later, "\n"), exec->later);
}

static int exec_in(const struct sandbox_choice *sandbox, const struct options *options, const struct strbuf *script)
{
    struct exec_run exec = {
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
        exec.status = cli_out_error(&exec.out.output);
    free(exec.error);
    free(exec.later);
    lines_release(&exec.lines);
    exec_output_release(&exec.out);
    return exec.stopped ? exec.stopped : exec.status;
}

/* Refuses options that only a script written by a model uses. */
static int check_options(const struct options *options)
{
    const char *idle = options->model           ? "model"
                       : options->attempts >= 0 ? "attempts"
                       : options->config        ? "config"
                                                : NULL;
    if (options->ask && options->operand)
        return cli_error(STATUS_USAGE, "--ask lets a model write the script (leave out %s)",
                         strcmp(options->operand, "-") == 0 ? "-" : "FILE");
    if (!options->ask && idle)
        return cli_error(STATUS_USAGE, "--%s needs --ask TEXT", idle);
    if (cli_out_closed)
        return cli_error(STATUS_FAILED, "standard output is closed (send it to a file)");
    return 0;
}

static int exec_read_script(const char *operand, struct strbuf *script);

int cmd_exec(const struct options *options)
{
    struct sandbox_choice sandbox;
    CLEANUP(strbuf) struct strbuf script = STRBUF_INIT;
    int status = check_options(options);
    if (status || options->ask)
        return status ? status : exec_ask(options);
    secrets_declare(options, NULL);
    status = sandbox_choice_open(&sandbox, options);
    if (!status)
        status = exec_read_script(options->operand, &script);
    if (!status)
        status = exec_in(&sandbox, options, &script);
    sandbox_choice_close(&sandbox);
    return status;
}

/* ---- the script ---- */

#define SCRIPT_BYTES_MAX (16u << 20)
#define UTF8_MARK        "\xef\xbb\xbf" /* byte order mark that some editors write */

static int read_input(struct strbuf *script)
{
    if (strbuf_read(script, STDIN_FILENO, SCRIPT_BYTES_MAX))
        return cli_error(STATUS_USAGE, "cannot read the script from standard input: %s",
                         errno == EFBIG ? "it is larger than 16 MB" : strerror(errno));
    return 0;
}

static int read_bytes(const char *operand, struct strbuf *script)
{
    struct err err = ERR_INIT;
    if (!operand && isatty(STDIN_FILENO))
        return cli_error(STATUS_USAGE, "keyturn exec needs a script (keyturn exec FILE, or pipe it in)");
    if (!operand || strcmp(operand, "-") == 0)
        return read_input(script);
    if (!*operand)
        return cli_error(STATUS_USAGE, "FILE is empty (keyturn exec FILE, or - for standard input)");
    return file_read(operand, script, SCRIPT_BYTES_MAX, &err) ? cli_file_error(STATUS_USAGE, operand, &err) : 0;
}

/* Offset of the first byte that is not text: invalid UTF-8, or NUL. `len` if all of it is text. */
static size_t find_foreign(const char *text, size_t len)
{
    size_t used, at = 0;
    while (at < len && text[at]) {
        /* A script may contain U+FFFD itself. */
        if (utf8_decode(text + at, len - at, &used) == UTF8_REPLACEMENT && !utf8_valid(text + at, used))
            break;
        at += used;
    }
    return at;
}

static long line_of(const char *text, size_t at)
{
    long line = 1;
    for (const char *newline = text; (newline = memchr(newline, '\n', at - (size_t)(newline - text))); newline++)
        line++;
    return line;
}

/* True if one of the first two lines is a comment that names a coding, by Python's rules. */
static bool names_coding(const char *text)
{
    for (int line = 0; line < 2; line++) {
        size_t len = strcspn(text, "\n");
        const char *hash = memchr(text, '#', len);
        const char *coding = hash ? memmem(hash, len - (size_t)(hash - text), "coding", 6) : NULL;
        if (coding && (coding[6] == ':' || coding[6] == '='))
            return true;
        text += len + (text[len] == '\n');
    }
    return false;
}

static int check_text(const char *name, const struct strbuf *script)
{
    size_t at = find_foreign(script->buf, script->len);
    if (at == script->len)
        return 0;
    struct err err = ERR_INIT;
    if (!script->buf[at])
        err_set(&err, "a NUL byte (a script is text)");
    else if (names_coding(script->buf))
        err_set(&err, "not UTF-8; the coding line is ignored, save the script as UTF-8");
    else
        err_set(&err, "not UTF-8 (the byte 0x%02x: save it as UTF-8)", (unsigned char)script->buf[at]);
    err.line = line_of(script->buf, at);
    return cli_file_error(STATUS_USAGE, name, &err);
}

static void drop_mark(struct strbuf *script)
{
    size_t len = strlen(UTF8_MARK);
    if (script->len < len || memcmp(script->buf, UTF8_MARK, len) != 0)
        return;
    memmove(script->buf, script->buf + len, script->len - len);
    strbuf_set_len(script, script->len - len);
}

/* Reads the script from a file, or from standard input (NULL or "-"), as UTF-8 without a byte order mark. Returns 0, or
 * the exit status after printing the error. */
static int exec_read_script(const char *operand, struct strbuf *script)
{
    int status = read_bytes(operand, script);
    if (status)
        return status;
    drop_mark(script);
    return check_text(operand && strcmp(operand, "-") != 0 ? operand : "standard input", script);
}

struct script_request exec_request(const struct sandbox_choice *sandbox, const struct options *options)
{
    return (struct script_request){
        .mode = options->mode ? (enum script_mode)script_mode_from_name(options->mode) : SCRIPT_PLAN,
        .timeout_s = isnan(options->timeout) ? SCRIPT_TIMEOUT_S : options->timeout,
        .max_output_bytes = options->max_output > 0 ? (size_t)options->max_output : SCRIPT_OUTPUT_BYTES,
        .secrets = sandbox->spec.secrets,
    };
}

struct pool *exec_open_pool(const struct sandbox_choice *sandbox, struct loop *loop, size_t warm)
{
    struct pool *pool = sandbox_choice_pool(sandbox, loop, warm, 1 - warm);
    if (!pool)
        cli_error(STATUS_USAGE, "no sandbox is installed (install bubblewrap, or see keyturn engines)");
    else if (sandbox->spec.engine->unsafe)
        cli_notice("--engine %s is UNSAFE: only the layers of the harness contain the script",
                   sandbox->spec.engine->name);
    return pool;
}

/* If the reason already ends with a fix, no other advice is added. */
int exec_no_box_error(const char *why)
{
    bool advised = *why && why[strlen(why) - 1] == ')';
    return cli_error(STATUS_USAGE, "cannot run the script: %s%s", why, advised ? "" : " (keyturn engines says more)");
}
