/* Runs executor.run: scripts through the executor, against a fake harness that sends the stream of the case, in virtual
 * time.
 *
 * A case is one run, or several: `runs` repeats it, `outcomes` names ways to end. The expectations are compared with
 * the first run; those about every run are checked in every run. */

#include "areas.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/script.h"
#include "support/fake_channel.h"
#include "vector.h"

#define RUNS_MAX 64

struct one_run {
    struct fake_channel config;
    struct script_run *run;
    struct script_result result;
    bool done;
    int64_t done_ms;
    int64_t callback_calls, callback_ms;
    bool callback_raises;
    struct loop_timer callback;
    struct loop *loop;
};

static const struct vector_field request_fields[] = {
    FIELD("execution_id", struct script_request, execution_id),
    FIELD("script", struct script_request, script),
    FIELD("timeout_sec", struct script_request, timeout_s),
    FIELD("max_output_bytes", struct script_request, max_output_bytes),
};
static const struct vector_field callback_fields[] = {
    FIELD("callback_delay_ms", struct one_run, callback_ms),
    FIELD("callback_raises", struct one_run, callback_raises),
};
static const struct vector_field result_fields[] = {
    FIELD("logs_count", struct one_run, result.log_count),
    FIELD("intermediates_count", struct one_run, result.intermediate_count),
    FIELD("container_reusable", struct one_run, result.reusable),
    FIELD("stream_closed", struct one_run, config.closed),
    FIELD("never_raises", struct one_run, done),
    FIELD("callback_calls", struct one_run, callback_calls),
    FIELD("returns_at_ms", struct one_run, done_ms),
};

static void callback_over(struct loop_timer *timer)
{
    script_run_go_on(CONTAINER_OF(timer, struct one_run, callback)->run);
}

static enum script_ack on_intermediate(void *user, const struct script_item *part, struct err *err)
{
    struct one_run *one = user;
    one->callback_calls++;
    if (one->callback_raises) {
        err_set(err, "%s is more than it can take", part->label);
        return SCRIPT_HEARD_FAILED;
    }
    if (!one->callback_ms)
        return SCRIPT_HEARD;
    loop_timer_start(one->loop, &one->callback, loop_now_us(one->loop) + one->callback_ms * 1000, callback_over);
    return SCRIPT_HEARD_LATER;
}

static void on_done(void *user, struct script_result *take_result)
{
    struct one_run *one = user;
    one->done = true;
    one->done_ms = loop_now_us(one->loop) / 1000;
    one->result = *take_result;
    *take_result = (struct script_result){0};
    loop_timer_stop(one->loop, &one->callback);
}

/* ---- reading the case ---- */

static const char **read_names(struct vector *v, const struct json *list)
{
    const char **names = arena_calloc(&v->arena, (list ? list->count : 0) + 1, sizeof(*names));
    size_t count = 0;
    json_each (name, list) {
        names[count++] = json_str(name, "");
    }
    return names;
}

static struct script_request read_request(struct vector *v)
{
    const char *mode = in_text(v, "mode", "PLAN");
    int known = script_mode_from_name(mode);
    if (known < 0)
        vector_fail(v, "expected a mode the product knows got %s", mode);
    struct script_request request = {
        .execution_id = "e1",
        .script = "pass",
        .mode = known < 0 ? SCRIPT_PLAN : (enum script_mode)known,
        .secrets = in_has(v, "required_secrets") ? read_names(v, in_get(v, "required_secrets")) : NULL,
    };
    vector_fill(v, request_fields, &request);
    return request;
}

static void add_stream(struct vector *v, struct fake_channel *config)
{
    json_each (saying, in_get(v, "stream")) {
        in_only(v, saying, "input.stream[]", (const char *const[]){"at_ms", "data", NULL});
        fake_channel_say(config, json_int(json_get(saying, "at_ms"), 0),
                         vector_substitute(v, json_str(json_get(saying, "data"), "")));
    }
    if (in_has(v, "eof_at_ms") && !in_is_null(v, "eof_at_ms"))
        fake_channel_end(config, in_int(v, "eof_at_ms", 0));
}

/* One of `outcomes`: the stream of the harness for this ending. */
static void add_outcome(struct vector *v, struct fake_channel *config, const char *outcome)
{
    if (strcmp(outcome, "result") == 0 || strcmp(outcome, "success") == 0) {
        fake_channel_event(config, 1, "\"type\":\"final_result\",\"data\":1");
    } else if (strcmp(outcome, "error") == 0) {
        fake_channel_event(config, 1, "\"type\":\"error\",\"message\":\"m\",\"traceback\":\"t\"");
    } else if (strcmp(outcome, "eof") == 0) {
        fake_channel_end(config, 1);
    } else if (strcmp(outcome, "flood") == 0) {
        CLEANUP(free) char *bytes = xcalloc(1, SCRIPT_OUTPUT_BYTES + 1);
        fake_channel_say_bytes(config, 1, bytes, SCRIPT_OUTPUT_BYTES + 1);
    } else if (strcmp(outcome, "timeout") != 0) {
        vector_fail(v, "expected an outcome the runner understands got input.outcomes[] = %s", outcome);
    }
}

/* ---- one run ---- */

static void run_one(struct vector *v, struct one_run *one, const struct script_request *request, const char *outcome)
{
    struct fake_clock clock;
    struct fake_channel *config = &one->config;
    const struct json *ready = in_get(v, "ready");
    const char *input = in_text(v, "stdin", "open");
    fake_clock_init(&clock);
    one->loop = loop_new(&clock.base);
    fake_channel_init(config, one->loop);
    config->base.ordered = in_bool(v, "ordered", json_bool(json_get(ready, "ordered"), false));
    config->stdin_closed = strcmp(input, "closed") == 0;
    if (!config->stdin_closed && strcmp(input, "open") != 0)
        vector_fail(v, "expected stdin to be open or closed got %s", input);
    vector_fill(v, callback_fields, one);
    one->run =
        script_run_start(one->loop, &config->base, request,
                         &(struct script_listener){.intermediate = on_intermediate, .done = on_done, .user = one});
    if (config->id && v->bound_count == 0)
        vector_bind(v, "execution_id", config->id);
    if (outcome)
        add_outcome(v, config, outcome);
    else
        add_stream(v, config);
    loop_run(one->loop);
    if (!one->done)
        vector_fail(v, "expected a result got none");
}

static void release_one(struct one_run *one)
{
    script_result_release(&one->result);
    fake_channel_release(&one->config);
    loop_free(one->loop);
}

/* ---- results ---- */

static void got_at_least(struct vector *v, const char *name, int64_t value)
{
    const struct json *least = wants(v, name);
    if (least && value < json_int(least, INT64_MAX))
        vector_fail(v, "expected %s %s got %lld", name, least->text, (long long)value);
}

static void got_at_most(struct vector *v, const char *name, int64_t value)
{
    const struct json *most = wants(v, name);
    if (most && value > json_int(most, INT64_MIN))
        vector_fail(v, "expected %s %s got %lld", name, most->text, (long long)value);
}

/* "NAME_min" and "NAME_max". */
static void got_bounds(struct vector *v, const char *name, int64_t value)
{
    got_at_least(v, arena_printf(&v->arena, "%s_min", name), value);
    got_at_most(v, arena_printf(&v->arena, "%s_max", name), value);
}

static void got_request(struct vector *v, const struct one_run *one)
{
    const struct strbuf *written = &one->config.written;
    int64_t lines = 0;
    for (size_t i = 0; i < written->len; i++)
        lines += written->buf[i] == '\n';
    got_int(v, "lines", lines);
    got_bool(v, "ends_with_newline", written->len && written->buf[written->len - 1] == '\n');
    if (!written->len)
        return;
    got_part(v, "request", written->buf);
    json_each (key, wants(v, "json_keys_at_least")) {
        if (!json_get(vector_parse(v, written->buf), json_str(key, "")))
            vector_fail(v, "expected the key %s in the request got %s", json_str(key, "?"), written->buf);
    }
}

static void got_result(struct vector *v, const struct one_run *one)
{
    const struct script_result *result = &one->result;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    script_result_write(&text, result);
    const struct json *written = vector_parse(v, text.buf);
    static const char *const members[] = {"success", "execution_id", "final_data", "intermediates", "logs",
                                          "error",   "traceback",    "step_done",  "duration_ms",   "output_bytes"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        got_value(v, members[i], json_get(written, members[i]));
    vector_compare(v, result_fields, one);
    got_bool(v, "error_non_empty", result->error && *result->error);
    got_has(v, "error_has", result->error ? result->error : "");
    got_has(v, "error_contains", result->error ? result->error : "");
    got_has(v, "traceback_contains", result->traceback ? result->traceback : "");
    got_bool(v, "box_kept", script_result_keeps_box(result));
    got_bool(v, "traceback_empty", !result->traceback || !*result->traceback);
    got_bool(v, "traceback_non_empty", result->traceback && *result->traceback);
    got_at_least(v, "returns_not_before_ms", one->done_ms);
    got_at_most(v, "returns_not_after_ms", one->done_ms);
}

static void got_every(struct vector *v, const struct one_run *runs, size_t count)
{
    bool distinct = true, same = true;
    for (size_t i = 0; i < count; i++) {
        const struct script_result *result = &runs[i].result;
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        script_result_write(&text, result);
        const struct json *bytes = json_get(vector_parse(v, text.buf), "output_bytes");
        got_bool(v, "output_bytes_is_number", bytes && bytes->type == JSON_NUMBER);
        got_bounds(v, "duration_ms", result->duration_ms);
        got_bounds(v, "output_bytes", (int64_t)result->output_bytes);
        same = same && runs[i].config.id && strcmp(runs[i].config.id, result->execution_id) == 0;
        for (size_t j = 0; j < i; j++)
            distinct = distinct && strcmp(result->execution_id, runs[j].result.execution_id) != 0;
    }
    got_bool(v, "ids_distinct", distinct);
    got_bool(v, "request_id_equals_result_id", same);
}

/* Every other expectation is a path within the result: "final_data.status", "logs_len". */
static void got_rest(struct vector *v, const struct one_run *one)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    script_result_write(&text, &one->result);
    got_places(v, "", vector_parse(v, text.buf));
}

void area_executor_run(struct vector *v)
{
    struct script_request request = read_request(v);
    const struct json *outcomes = in_get(v, "outcomes");
    int64_t count = outcomes ? outcomes->count : in_int(v, "runs", 1);
    struct one_run *runs = arena_calloc(&v->arena, RUNS_MAX, sizeof(*runs));
    if (count < 1 || count > RUNS_MAX) {
        vector_fail(v, "expected 1 to %d runs got %lld", RUNS_MAX, (long long)count);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        run_one(v, &runs[i], &request, outcomes ? json_str(json_at(outcomes, (size_t)i), "") : NULL);
    got_request(v, &runs[0]);
    got_result(v, &runs[0]);
    got_every(v, runs, (size_t)count);
    got_rest(v, &runs[0]);
    for (int64_t i = 0; i < count; i++)
        release_one(&runs[i]);
}
