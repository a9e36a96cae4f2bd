/* Redaction of whole events and of texts that arrive in pieces. */

#include "redact_events.h"
#include "base/mem.h"
#include "base/redact.h"
#include <string.h>

/* The unfinished end of a stream. */
struct held_back {
    enum event_type type;
    const struct event_field *field;
    char *key; /* identifies the stream among those of its type */
    int64_t turn, step;
    struct strbuf text;
    struct held_back *next;
};

static const char *text_of(const struct event *event, const struct event_field *field)
{
    const char *text;
    memcpy(&text, (const char *)&event->session_started + field->offset, sizeof(text));
    return text;
}

static void set_text(struct event *event, const struct event_field *field, const char *text)
{
    memcpy((char *)event_body(event) + field->offset, &text, sizeof(text));
}

/* ---- events that are whole ---- */

static const char *redact_one(struct arena *arena, const char *text, bool json, void *user)
{
    (void)user;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    bool found = (json ? redact_json : redact_text)(&out, text, strlen(text));
    return found ? arena_memdup0(arena, out.buf, out.len) : NULL;
}

static void redact_fields(struct event *event, struct arena *arena)
{
    event_map_texts(event, arena, redact_one, NULL);
}

/* ---- streams ---- */

static char *key_of(const struct event *event)
{
    switch (event->type) {
    case EVENT_MODEL_DELTA:
        return xstrdup("");
    case EVENT_TOOL_OUTPUT:
        return xasprintf("%s %s", event->tool_output.call ? event->tool_output.call : "",
                         event->tool_output.stream ? event->tool_output.stream : "");
    case EVENT_PROGRAM_OUTPUT:
        return xstrdup(event->program_output.program ? event->program_output.program : "");
    default:
        return NULL;
    }
}

/* True for fields that hold pieces of the stream. The other fields identify the stream. */
static bool is_piece(const struct event_field *field)
{
    return field->kind == EVENT_KIND_STR && (strcmp(field->name, "text") == 0 || strcmp(field->name, "thinking") == 0);
}

static struct held_back *find_stream(struct redact_events *redact, const struct event *event,
                                     const struct event_field *field, const char *key)
{
    for (struct held_back *held = redact->held_back; held; held = held->next)
        if (held->field == field && strcmp(held->key, key) == 0)
            return held;
    struct held_back *held = xcalloc(1, sizeof(*held));
    *held = (struct held_back){.type = event->type, .field = field, .key = xstrdup(key), .next = redact->held_back};
    strbuf_init(&held->text);
    redact->held_back = held;
    return held;
}

static void free_held_back(struct held_back *held)
{
    free(held->key);
    explicit_bzero(held->text.buf, held->text.len);
    strbuf_release(&held->text);
    free(held);
}

/* The text of a piece after the held-back bytes; NULL if all of it must be held back. */
static const char *next_piece(struct redact_events *redact, struct held_back *held, const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    strbuf_addstr(&held->text, text);
    size_t took = redact_part(&out, held->text.buf, held->text.len);
    memmove(held->text.buf, held->text.buf + took, held->text.len - took);
    strbuf_set_len(&held->text, held->text.len - took);
    return out.len ? arena_memdup0(&redact->arena, out.buf, out.len) : NULL;
}

/* Returns false if the whole event is held back. */
static bool redact_stream(struct redact_events *redact, struct event *event, const char *key)
{
    struct event_layout layout = event_layout(event->type);
    const struct event_field *fields = layout.fields;
    bool told = false;
    for (size_t i = 0; i < layout.count; i++) {
        const char *text = is_piece(&fields[i]) ? text_of(event, &fields[i]) : NULL;
        if (!text)
            continue;
        struct held_back *held = find_stream(redact, event, &fields[i], key);
        held->turn = event->turn;
        held->step = event->type == EVENT_MODEL_DELTA ? event->model_delta.step : 0;
        text = next_piece(redact, held, text);
        set_text(event, &fields[i], text);
        told |= text != NULL;
    }
    return told;
}

/* True if this event ends the stream. */
static bool ends(const struct event *event, const struct held_back *held)
{
    const char *call = event->tool_finished.call ? event->tool_finished.call : "";
    switch (event->type) {
    case EVENT_MODEL_REQUESTED:
    case EVENT_MODEL_RESPONDED:
    case EVENT_MODEL_FAILED:
        return held->type == EVENT_MODEL_DELTA;
    case EVENT_TOOL_FINISHED:
        return held->type == EVENT_TOOL_OUTPUT && strncmp(held->key, call, strlen(call)) == 0 &&
               held->key[strlen(call)] == ' ';
    case EVENT_PROGRAM_ENDED:
        return held->type == EVENT_PROGRAM_OUTPUT && event->program_ended.program &&
               strcmp(held->key, event->program_ended.program) == 0;
    case EVENT_WRITES_CLOSED:
    case EVENT_TURN_FINISHED:
        return held->type != EVENT_PROGRAM_OUTPUT;
    case EVENT_SESSION_ENDED:
        return true;
    default:
        return false;
    }
}

/* Rebuilds the event for the held-back text from its key. */
static struct event event_of(const struct held_back *held, struct arena *arena)
{
    struct event event = {.type = held->type, .type_name = event_type_name(held->type), .turn = held->turn};
    const char *blank = strchr(held->key, ' ');
    if (held->type == EVENT_MODEL_DELTA) {
        event.model_delta.step = held->step;
    } else if (held->type == EVENT_PROGRAM_OUTPUT) {
        event.program_output.program = arena_strdup(arena, held->key);
    } else if (blank) {
        event.tool_output.call = arena_memdup0(arena, held->key, (size_t)(blank - held->key));
        event.tool_output.stream = arena_strdup(arena, blank + 1);
    }
    set_text(&event, held->field, arena_memdup0(arena, held->text.buf, held->text.len));
    return event;
}

/* Emits held-back text of streams that end: it was not the start of a secret. */
static int emit_ended_streams(struct redact_events *redact, const struct event *before, struct emitter *out)
{
    int result = 0;
    for (struct held_back **place = &redact->held_back; *place;) {
        struct held_back *held = *place;
        if (!ends(before, held)) {
            place = &held->next;
            continue;
        }
        *place = held->next;
        if (held->text.len && result == 0) {
            struct event event = event_of(held, &redact->arena);
            redact_fields(&event, &redact->arena);
            result = emit(out, &event);
        }
        free_held_back(held);
    }
    return result;
}

/* ---- both ---- */

static int emit_redacted(struct redact_events *redact, struct event *event, struct emitter *out)
{
    CLEANUP(free) char *key = key_of(event);
    if (emit_ended_streams(redact, event, out) < 0)
        return -1;
    if (key && !redact_stream(redact, event, key))
        return 0;
    if (!key)
        redact_fields(event, &redact->arena);
    return emit(out, event);
}

bool redact_events_idle(const struct redact_events *redact)
{
    return !redact_any() && !redact->held_back;
}

int redact_events_emit(struct redact_events *redact, struct event *event, struct emitter *out)
{
    if (redact_events_idle(redact))
        return emit(out, event);
    struct event copy = *event;
    int result = emit_redacted(redact, &copy, out);
    arena_reset(&redact->arena);
    event->seq = copy.seq;
    event->t = copy.t;
    event->raw = copy.raw;
    event->raw_len = copy.raw_len;
    return result;
}

void redact_events_release(struct redact_events *redact)
{
    while (redact->held_back) {
        struct held_back *next = redact->held_back->next;
        free_held_back(redact->held_back);
        redact->held_back = next;
    }
    arena_release(&redact->arena);
}
