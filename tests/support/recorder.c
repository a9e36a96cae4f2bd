/* An emitter that keeps the events of a test. */

#include "recorder.h"
#include "base/mem.h"

static const char *or_none(const char *text)
{
    return text ? text : "-";
}

static void describe(struct strbuf *out, const struct event *event)
{
    switch (event->type) {
    case EVENT_WORKSPACE_OP:
        strbuf_addf(out, "%s %s %s\n", event->workspace_op.op, or_none(event->workspace_op.error),
                    event->workspace_op.attrs);
        break;
    case EVENT_NETWORK_CONNECTED:
        strbuf_addf(out, "%s %s %lld %s\n", or_none(event->network_connected.call), event->network_connected.host,
                    (long long)event->network_connected.port, event->network_connected.bytes > 0 ? "bytes" : "nothing");
        break;
    case EVENT_PROGRAM_STARTED:
        strbuf_addf(out, "started %s %s %s%s\n", event->program_started.program, event->program_started.cmd,
                    event->program_started.cwd, event->program_started.tty ? " tty" : "");
        break;
    case EVENT_PROGRAM_OUTPUT:
        strbuf_addf(out, "output %s %s\n", event->program_output.program, event->program_output.text);
        break;
    case EVENT_PROGRAM_INPUT:
        strbuf_addf(out, "input %s %s\n", event->program_input.program, event->program_input.text);
        break;
    case EVENT_PROGRAM_ENDED:
        strbuf_addf(out, "ended %s %lld %s\n", event->program_ended.program, (long long)event->program_ended.exit_code,
                    event->program_ended.why);
        break;
    default:
        strbuf_addf(out, "%s\n", event_type_name(event->type));
        break;
    }
}

static int record(struct emitter *emitter, struct event *events, size_t count)
{
    struct recorder *recorder = CONTAINER_OF(emitter, struct recorder, emitter);
    for (size_t i = 0; i < count; i++) {
        GROW(recorder->events, recorder->count, recorder->room);
        recorder->events[recorder->count++] = event_copy(&recorder->arena, &events[i]);
        describe(&recorder->text, &events[i]);
    }
    return 0;
}

void recorder_init(struct recorder *recorder)
{
    *recorder = (struct recorder){.emitter = {.emit = record}, .queue = event_queue_new()};
    strbuf_init(&recorder->text);
}

void recorder_release(struct recorder *recorder)
{
    recorder_forget(recorder);
    event_queue_free(recorder->queue);
    free(recorder->events);
    strbuf_release(&recorder->text);
}

void recorder_forget(struct recorder *recorder)
{
    event_queue_emit(recorder->queue, NULL);
    arena_release(&recorder->arena);
    recorder->count = 0;
    strbuf_reset(&recorder->text);
}

const struct event *recorder_last(struct recorder *recorder, enum event_type type)
{
    event_queue_emit(recorder->queue, &recorder->emitter);
    for (size_t i = recorder->count; i--;)
        if (recorder->events[i]->type == type)
            return recorder->events[i];
    return NULL;
}

size_t recorder_count(struct recorder *recorder, enum event_type type)
{
    size_t count = 0;
    event_queue_emit(recorder->queue, &recorder->emitter);
    for (size_t i = 0; i < recorder->count; i++)
        count += recorder->events[i]->type == type;
    return count;
}

const char *recorder_text(struct recorder *recorder)
{
    event_queue_emit(recorder->queue, &recorder->emitter);
    return recorder->text.buf;
}
