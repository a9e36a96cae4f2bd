/* Fuzzes the executor with a hostile harness: for any bytes in any pieces it gives one result, always the same.
 *
 * The first byte gives the mode, whether order is guaranteed, and the limit. The rest is the stream, first whole, then
 * in pieces whose sizes the bytes decide, then in pieces with a listener that delays every intermediate event. */

#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/emitter.h"
#include "sandbox/channel.h"
#include "sandbox/script.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum feeding { WHOLE, IN_PIECES, HELD };

struct engine_config {
    struct channel channel;
    struct loop *loop;
    struct script_run *run;
    enum feeding how;
    bool waits; /* for the listener */
    struct loop_task task;
    int dones;
    struct emitter emitter;
    size_t events;
    struct strbuf result;
};

static int take_request(struct channel *channel, const char *bytes, size_t len)
{
    (void)channel;
    return bytes[len - 1] == '\n' ? 0 : -1;
}

static void ignore_pause(struct channel *channel, bool paused)
{
    (void)channel;
    (void)paused;
}

static void ignore_close(struct channel *channel)
{
    (void)channel;
}

static const struct channel_ops ops = {.write = take_request, .pause = ignore_pause, .close = ignore_close};

/* A forwarded line is what json_parse reads, and has our id. */
static void check_event(const char *line, size_t len)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *event = json_parse(&arena, line, len, NULL);
    const char *id = json_str(json_get(event, "execution_id"), NULL);
    if (!event || event->type != JSON_OBJECT || event->src_len != len || !id || strcmp(id, "e1") != 0)
        BUG("this is no event of ours");
}

static int on_events(struct emitter *emitter, struct event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_event(events[i].script_event.event, strlen(events[i].script_event.event));
    CONTAINER_OF(emitter, struct engine_config, emitter)->events += count;
    return 0;
}

static enum script_ack on_intermediate(void *user, const struct script_item *part, struct err *err)
{
    struct engine_config *harness = user;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (!json_parse(&arena, part->data, strlen(part->data), NULL))
        BUG("the data is no JSON");
    harness->waits = harness->how == HELD;
    if (!harness->waits && strlen(part->data) % 2) {
        err_set(err, "odd");
        return SCRIPT_HEARD_FAILED;
    }
    return harness->waits ? SCRIPT_HEARD_LATER : SCRIPT_HEARD;
}

static void on_done(void *user, struct script_result *take_result)
{
    struct engine_config *harness = user;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    harness->dones++;
    harness->run = NULL;
    take_result->duration_ms = 0;
    if (take_result->error && strstr(take_result->error, "exceeded"))
        take_result->output_bytes = 0; /* bytes of the flood that were read before the limit was noticed */
    script_result_write(&harness->result, take_result);
    if (!json_parse(&arena, harness->result.buf, harness->result.len, NULL))
        BUG("the result is no JSON");
    if (take_result->success == (take_result->error != NULL))
        BUG("success and an error, or neither");
}

static void stop(struct loop_task *task)
{
    loop_stop(CONTAINER_OF(task, struct engine_config, task)->loop);
}

/* Continues the run whenever it waits; no time passes. */
static void settle(struct engine_config *harness)
{
    while (harness->waits && harness->run) {
        harness->waits = false;
        script_run_go_on(harness->run);
        loop_post(harness->loop, &harness->task, stop);
        loop_run(harness->loop);
    }
}

static void feed(struct engine_config *harness, const char *bytes, size_t len)
{
    while (len && harness->channel.received) {
        size_t piece = harness->how == WHOLE ? len : (size_t)1 + (unsigned char)*bytes % 7;
        if (piece > len)
            piece = len;
        harness->channel.received(&harness->channel, bytes, piece);
        settle(harness);
        bytes += piece;
        len -= piece;
    }
    if (harness->channel.ended)
        harness->channel.ended(&harness->channel);
}

static void run(struct engine_config *harness, const char *bytes, size_t len, unsigned how)
{
    struct fake_clock clock;
    harness->emitter = (struct emitter){.emit = on_events};
    struct script_request request = {.execution_id = "e1",
                                     .emitter = &harness->emitter,
                                     .script = "pass",
                                     .mode = how & 1 ? SCRIPT_INTERACTIVE : SCRIPT_PLAN,
                                     .max_output_bytes = how & 4 ? 64 + (how >> 3) : 0};
    fake_clock_init(&clock);
    harness->loop = loop_new(&clock.base);
    harness->channel = (struct channel){.ops = &ops, .ordered = how & 2};
    harness->run = script_run_start(harness->loop, &harness->channel, &request,
                                    &(struct script_listener){on_intermediate, on_done, harness});
    feed(harness, bytes, len);
    settle(harness);
    loop_run(harness->loop);
    if (harness->dones != 1)
        BUG("%d results", harness->dones);
    loop_free(harness->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct engine_config first = {.how = WHOLE, .result = STRBUF_INIT};
    run(&first, (const char *)data + 1, size - 1, data[0]);
    for (enum feeding how = IN_PIECES; how <= HELD; how++) {
        struct engine_config other = {.how = how, .result = STRBUF_INIT};
        run(&other, (const char *)data + 1, size - 1, data[0]);
        if (strcmp(first.result.buf, other.result.buf) != 0 || first.events != other.events)
            BUG("other pieces, another result");
        strbuf_release(&other.result);
    }
    strbuf_release(&first.result);
    return 0;
}
