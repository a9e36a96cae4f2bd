/* Runs one script in a box: sends the request, reads the events, returns one result (script.h).
 *
 * A run is a state machine fed with bytes:
 *
 *   received ──► within the limit? ──► lines ──► wire ──► take_event ──► finish_run
 *                     │ no                                   │ the listener holds an intermediate back
 *                     ▼                                      ▼
 *                 finish_run                       backlog, channel paused; script_run_go_on feeds it
 *
 * Only max_output_bytes are fed. Lines within the limit are read; the first byte beyond it ends the run. So the result
 * does not depend on how the bytes were split, a result whose line just fits counts even if a flood follows, and the
 * run never keeps more than the limit: neither of an endless line nor behind a slow listener.
 *
 * finish_run is the only way to a result. It leaves the channel at once and posts: `done` never runs inside a call of
 * its receiver, and `done` may free the channel, because none of the channel's callbacks is running. */

#include "script.h"
#include "base/arena.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "channel.h"
#include "event/emitter.h"
#include "wire.h"
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define LONGEST_WAIT_S 1e9 /* thirty years */

struct script_run {
    struct loop *loop;
    struct channel *channel;
    struct script_listener listener;
    struct emitter *emitter;
    const char *call;
    enum script_mode mode;
    size_t max_output_bytes;
    size_t id_len;
    int64_t started_us;
    struct loop_timer timer;
    struct loop_task task; /* posts `done`, or the continuation after a hold */
    struct lines lines;
    struct strbuf backlog; /* bytes that arrived while the listener held an event */
    struct strbuf told;    /* events that the listener has not received yet */
    struct arena arena;    /* memory of one event */
    bool held;             /* by the listener */
    bool paused;           /* this run paused the channel */
    bool ended;            /* the stream has ended, behind a backlog */
    bool over;             /* the run has a result */
    struct script_result result;
};

/* ---- names ---- */

static const char *const modes[] = {[SCRIPT_PLAN] = "PLAN", [SCRIPT_INTERACTIVE] = "INTERACTIVE"};

const char *script_mode_name(enum script_mode mode)
{
    return modes[mode];
}

int script_mode_from_name(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(modes); i++)
        if (strcasecmp(name, modes[i]) == 0)
            return (int)i;
    return -1;
}

/* Makes an unguessable id that never repeats, even if one harness serves several programs. */
static char *make_id(void)
{
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        BUG("cannot read random bytes");
    return xasprintf("exec-%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
}

/* ---- the end ---- */

static void deliver(struct loop_task *task)
{
    struct script_run *run = CONTAINER_OF(task, struct script_run, task);
    run->listener.done(run->listener.user, &run->result);
    script_result_release(&run->result);
    lines_release(&run->lines);
    strbuf_release(&run->backlog);
    strbuf_release(&run->told);
    arena_release(&run->arena);
    free(run);
}

static void stop_listening(struct channel *channel)
{
    channel->received = NULL;
    channel->ended = NULL;
    channel->listener = NULL;
}

/* Ends the run. The caller has set the result, except its times. */
static void finish_run(struct script_run *run)
{
    run->over = true;
    run->result.duration_ms = (loop_now_us(run->loop) - run->started_us) / 1000;
    loop_timer_stop(run->loop, &run->timer);
    stop_listening(run->channel);
    if (run->paused && run->result.reusable) /* the next run must be able to read */
        run->channel->ops->pause(run->channel, false);
    loop_unpost(run->loop, &run->task); /* the task may be posted to continue after a hold */
    loop_post(run->loop, &run->task, deliver);
}

static void finish_failed(struct script_run *run, const char *error)
{
    run->result.error = xstrdup(error);
    finish_run(run);
}

/* Ends the run and closes the channel: the harness broke the protocol or is no longer needed, so it is not reused. */
static void finish_closed(struct script_run *run, const char *error)
{
    finish_failed(run, error);
    run->channel->ops->close(run->channel);
}

static void on_script_timer(struct loop_timer *timer)
{
    finish_closed(CONTAINER_OF(timer, struct script_run, timer), "Timed out waiting for container response");
}

static void finish_ended(struct script_run *run)
{
    finish_failed(run, "Container stdout closed unexpectedly");
}

static void finish_flooded(struct script_run *run)
{
    CLEANUP(free) char *error = xasprintf("Container output exceeded the limit of %zu bytes", run->max_output_bytes);
    finish_closed(run, error);
}

/* ---- events ---- */

static char *copy_json(struct wire_field field)
{
    return field.src ? xmemdup0(field.src, field.len) : xstrdup("null");
}

static char *copy_text(struct script_run *run, struct wire_field field, const char *otherwise)
{
    struct wire_field text = wire_text(field, otherwise, &run->arena);
    return xmemdup0(text.src, text.len);
}

static struct script_item make_part(struct wire_field label, struct wire_field data)
{
    char *texts = xmalloc(label.len + data.len + 2);
    memcpy(texts, label.src, label.len);
    texts[label.len] = '\0';
    memcpy(texts + label.len + 1, data.src, data.len);
    texts[label.len + 1 + data.len] = '\0';
    return (struct script_item){.label = texts, .data = texts + label.len + 1};
}

static void take_log(struct script_run *run, const struct wire_event *event)
{
    struct script_result *result = &run->result;
    GROW(result->logs, result->log_count, result->log_room);
    result->logs[result->log_count++] =
        make_part(wire_text(event->level, "info", &run->arena), wire_text(event->message, "", &run->arena));
}

static void take_intermediate(struct script_run *run, const struct wire_event *event)
{
    struct script_result *result = &run->result;
    GROW(result->intermediates, result->intermediate_count, result->intermediate_room);
    struct script_item *part = &result->intermediates[result->intermediate_count++];
    struct wire_field data = event->data.src ? event->data : (struct wire_field){"null", 4};
    *part = make_part(wire_text(event->label, "", &run->arena), data);
    if (!run->listener.intermediate)
        return;
    struct err err = ERR_INIT;
    run->held = true; /* set before the call, so that script_run_go_on works inside it */
    enum script_ack heard = run->listener.intermediate(run->listener.user, part, &err);
    if (heard != SCRIPT_HEARD_LATER)
        run->held = false;
    if (heard == SCRIPT_HEARD_FAILED)
        log_warn("script %s: the listener for %s failed: %s", run->result.execution_id, part->label, err.text);
}

static void take_result(struct script_run *run, const struct wire_event *event)
{
    run->result.success = true;
    run->result.reusable = true;
    run->result.final_data = copy_json(event->data);
    finish_run(run);
}

static void take_error(struct script_run *run, const struct wire_event *event)
{
    run->result.reusable = true;
    run->result.error = copy_text(run, event->message, "unknown error");
    run->result.traceback = copy_text(run, event->traceback, "");
    finish_run(run);
}

static void take_done(struct script_run *run)
{
    if (run->mode == SCRIPT_PLAN && !run->channel->ordered)
        return; /* a harness without `ordered` may still send the result */
    run->result.reusable = true;
    if (run->mode == SCRIPT_PLAN) {
        finish_failed(run, "Script finished without a result");
        return;
    }
    run->result.success = run->result.step_done = true; /* a step needs no result */
    finish_run(run);
}

static void take_event(struct script_run *run, enum wire_type type, const struct wire_event *event)
{
    switch (type) {
    case WIRE_LOG:
        take_log(run, event);
        break;
    case WIRE_INTERMEDIATE:
        take_intermediate(run, event);
        break;
    case WIRE_FINAL_RESULT:
        take_result(run, event);
        break;
    case WIRE_ERROR:
        take_error(run, event);
        break;
    case WIRE_SCRIPT_DONE:
        take_done(run);
        break;
    case WIRE_OTHER:
        break;
    }
}

void script_emit(struct emitter *emitter, const char *call, const char *lines, size_t len)
{
    if (!emitter || !len)
        return;
    CLEANUP(free) char *copy = xmemdup0(lines, len);
    struct event *events = NULL;
    size_t count = 0, room = 0;
    for (char *line = copy, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        GROW(events, count, room);
        events[count++] = (struct event){.type = EVENT_SCRIPT_EVENT, .script_event = {.call = call, .event = line}};
    }
    emitter->emit(emitter, events, count);
    free(events);
}

static void report_item(struct script_run *run)
{
    script_emit(run->emitter, run->call, run->told.buf, run->told.len);
    strbuf_reset(&run->told);
}

/* Emits events before they take effect if they may end the run or if a caller waits for them. The others wait until
 * the received bytes are used up. */
static void tell_in_time(struct script_run *run, enum wire_type type, const struct wire_event *event)
{
    if (!run->emitter)
        return;
    strbuf_add(&run->told, event->line, event->len);
    strbuf_addch(&run->told, '\n');
    if (type != WIRE_LOG && (type != WIRE_INTERMEDIATE || run->listener.intermediate))
        report_item(run);
}

/* Handles one line of the stream. Returns false if the caller must not look at what follows, now or ever. */
static bool on_script_line(void *user, const char *text, size_t len)
{
    struct script_run *run = user;
    struct wire_event event;
    enum wire_type type = WIRE_OTHER;
    arena_reset(&run->arena);
    if (wire_read(&event, text, len) && wire_is(event.execution_id, run->result.execution_id, run->id_len, &run->arena))
        type = wire_type_of(&event, &run->arena);
    if (type == WIRE_OTHER) {
        run->result.skipped++;
        log_debug("script %s: skipped %.*s", run->result.execution_id, (int)(len < 200 ? len : 200), text);
        return true;
    }
    tell_in_time(run, type, &event);
    if (!run->over) /* the emitter may have canceled the run */
        take_event(run, type, &event);
    return !run->over && !run->held;
}

/* ---- bytes ---- */

static void set_paused(struct script_run *run, bool paused)
{
    if (run->paused == paused)
        return;
    run->paused = paused;
    run->channel->ops->pause(run->channel, paused);
}

/* Returns how many more bytes the run may read. */
static size_t room_left(const struct script_run *run)
{
    return run->max_output_bytes - run->result.output_bytes;
}

/* Feeds the bytes within the limit and returns how many it used. It uses all of them, unless the listener holds. */
static size_t feed(struct script_run *run, const char *bytes, size_t len)
{
    size_t within = len < room_left(run) ? len : room_left(run);
    size_t used = lines_feed(&run->lines, bytes, within, on_script_line, run);
    run->result.output_bytes += used;
    report_item(run);
    if (run->over || run->held || used == len)
        return used;
    run->result.output_bytes += len - used;
    finish_flooded(run);
    return len;
}

/* Stores bytes for later. Of the bytes beyond the limit it stores one, which is enough to know that the limit was
 * passed. */
static void put_aside(struct script_run *run, const char *bytes, size_t len)
{
    size_t most = room_left(run) + 1 - run->backlog.len;
    strbuf_add(&run->backlog, bytes, len < most ? len : most);
    set_paused(run, true);
}

static void on_received(struct channel *channel, const char *bytes, size_t len)
{
    struct script_run *run = channel->listener;
    size_t used = run->held || run->backlog.len ? 0 : feed(run, bytes, len);
    if (!run->over && used < len)
        put_aside(run, bytes + used, len - used);
}

static void on_script_ended(struct channel *channel)
{
    struct script_run *run = channel->listener;
    run->ended = true;
    if (!run->held && !run->backlog.len)
        finish_ended(run);
}

static void continue_script(struct loop_task *task)
{
    struct script_run *run = CONTAINER_OF(task, struct script_run, task);
    if (run->held)
        return;
    struct strbuf bytes = run->backlog;
    strbuf_init(&run->backlog);
    size_t used = feed(run, bytes.buf, bytes.len);
    if (!run->over && used < bytes.len)
        strbuf_add(&run->backlog, bytes.buf + used, bytes.len - used);
    strbuf_release(&bytes);
    if (run->over || run->held)
        return;
    if (run->ended)
        finish_ended(run);
    else
        set_paused(run, false);
}

/* ---- public functions ---- */

static void write_names(struct json_writer *w, const char *key, const char *const *names)
{
    json_open(w, key, '[');
    for (; names && *names; names++)
        json_add_str(w, NULL, *names);
    json_close(w, ']');
}

static void write_files(struct json_writer *w, const struct script_file *files, size_t count)
{
    json_open(w, "files", '[');
    for (size_t i = 0; i < count; i++) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        base64_write(&text, files[i].bytes, files[i].len);
        json_open(w, NULL, '{');
        json_add_str(w, "path", files[i].path);
        json_add_str(w, "base64", text.buf);
        if (files[i].executable)
            json_add_bool(w, "executable", true);
        json_close(w, '}');
    }
    json_close(w, ']');
}

/* Writes the request line with its newline. */
static void script_request_write(struct strbuf *out, const struct script_request *request, const char *execution_id)
{
    struct json_writer w = json_begin(out);
    size_t len = request->script_len ? request->script_len : strlen(request->script);
    json_open(&w, NULL, '{');
    json_add_str(&w, "execution_id", execution_id);
    json_add_strn(&w, "script", request->script, len);
    json_add_num(&w, "timeout", request->timeout_s > 0 ? request->timeout_s : SCRIPT_TIMEOUT_S);
    if (request->named_timeout_s > 0)
        json_add_num(&w, "named_timeout", request->named_timeout_s);
    json_add_str(&w, "mode", script_mode_name(request->mode));
    write_names(&w, "required_secrets", request->secrets);
    if (request->tools)
        write_names(&w, "tools", request->tools);
    if (request->file_count)
        write_files(&w, request->files, request->file_count);
    json_close(&w, '}');
    strbuf_addch(out, '\n');
}

struct script_run *script_run_start(struct loop *loop, struct channel *channel, const struct script_request *request,
                                    const struct script_listener *listener)
{
    struct script_run *run = xcalloc(1, sizeof(*run));
    double wait_s = (request->timeout_s > 0 ? request->timeout_s : SCRIPT_TIMEOUT_S) + SCRIPT_GRACE_S;
    run->loop = loop;
    run->channel = channel;
    run->listener = *listener;
    run->emitter = request->emitter;
    run->call = request->call;
    run->mode = request->mode;
    run->max_output_bytes = request->max_output_bytes ? request->max_output_bytes : SCRIPT_OUTPUT_BYTES;
    run->lines = (struct lines)LINES_INIT(run->max_output_bytes);
    strbuf_init(&run->backlog);
    strbuf_init(&run->told);
    run->result.execution_id = request->execution_id ? xstrdup(request->execution_id) : make_id();
    run->id_len = strlen(run->result.execution_id);
    run->started_us = loop_now_us(loop);
    channel->received = on_received;
    channel->ended = on_script_ended;
    channel->listener = run;
    loop_timer_start(loop, &run->timer,
                     run->started_us + (int64_t)((wait_s < LONGEST_WAIT_S ? wait_s : LONGEST_WAIT_S) * 1e6),
                     on_script_timer);

    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    script_request_write(&line, request, run->result.execution_id);
    if (channel->ops->write(channel, line.buf, line.len) < 0 && !run->over)
        finish_failed(run, "The request could not be written: container stdin is closed");
    return run;
}

void script_run_go_on(struct script_run *run)
{
    if (!run->held || run->over)
        return;
    run->held = false;
    loop_post(run->loop, &run->task, continue_script);
}

void script_run_cancel(struct script_run *run, const char *error)
{
    if (!run->over)
        finish_closed(run, error);
}

/* ---- results ---- */

/* Writes a script's result as JSON, and releases it. */

#define TRACEBACK_SHOWN 2000

static void release_parts(struct script_item *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(parts[i].label); /* the label's memory also holds the data */
    free(parts);
}

void script_result_release(struct script_result *result)
{
    free(result->execution_id);
    free(result->final_data);
    free(result->error);
    free(result->traceback);
    release_parts(result->intermediates, result->intermediate_count);
    release_parts(result->logs, result->log_count);
    *result = (struct script_result){0};
}

bool script_result_keeps_box(const struct script_result *result)
{
    return result->reusable && result->success;
}

static void add_json(struct json_writer *w, const char *key, const char *json)
{
    if (json)
        json_add_raw(w, key, json);
    else
        json_add_null(w, key);
}

const char *script_traceback_end(const char *traceback)
{
    size_t len = strlen(traceback);
    if (len <= TRACEBACK_SHOWN)
        return traceback;
    const char *cut = traceback + len - TRACEBACK_SHOWN;
    const char *newline = strchr(cut, '\n');
    if (newline && newline[1])
        return newline + 1;
    while ((*cut & 0xC0) == 0x80) /* skip the rest of a split character */
        cut++;
    return cut;
}

void script_result_write(struct strbuf *out, const struct script_result *result)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_bool(&w, "success", result->success);
    json_add_str(&w, "execution_id", result->execution_id);
    add_json(&w, "final_data", result->final_data);
    json_open(&w, "intermediates", '[');
    for (size_t i = 0; i < result->intermediate_count; i++) {
        json_open(&w, NULL, '{');
        json_add_str(&w, "label", result->intermediates[i].label);
        add_json(&w, "data", result->intermediates[i].data);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_open(&w, "logs", '[');
    for (size_t i = 0; i < result->log_count; i++) {
        json_open(&w, NULL, '{');
        json_add_str(&w, "message", result->logs[i].data);
        json_add_str(&w, "level", result->logs[i].label);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_add_str(&w, "error", result->error);
    json_add_str(&w, "traceback", result->traceback);
    json_add_bool(&w, "step_done", result->step_done);
    json_add_int(&w, "duration_ms", result->duration_ms);
    json_add_int(&w, "output_bytes", (int64_t)result->output_bytes);
    json_close(&w, '}');
}
