#include "veil.h"
#include "base/mem.h"
#include "base/redact.h"
#include <string.h>

/* What an unfinished stream ended with. */
struct veil_tail {
    enum event_type type;
    const struct event_field *field;
    char *key; /* which of the streams of this type */
    int64_t turn, step;
    struct strbuf text;
    struct veil_tail *next;
};

static const char *text_of(const struct event *event, const struct event_field *field)
{
    const char *text;
    memcpy(&text, (const char *)event + field->offset, sizeof(text));
    return text;
}

static void set_text(struct event *event, const struct event_field *field, const char *text)
{
    memcpy((char *)event + field->offset, &text, sizeof(text));
}

/* ---- events that are whole ---- */

static void redact_fields(struct event *event, struct arena *arena)
{
    size_t count;
    const struct event_field *fields = event_fields(event->type, &count);
    for (size_t i = 0; i < count; i++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        bool json = fields[i].kind == EVENT_KIND_JSON;
        if (!json && fields[i].kind != EVENT_KIND_STR)
            continue;
        const char *text = text_of(event, &fields[i]);
        if (text && (json ? redact_json : redact_text)(&out, text, strlen(text)))
            set_text(event, &fields[i], arena_memdup0(arena, out.buf, out.len));
    }
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

/* Of the fields of a stream these hold its pieces; the others say which stream it is. */
static bool is_piece(const struct event_field *field)
{
    return field->kind == EVENT_KIND_STR && (strcmp(field->name, "text") == 0 || strcmp(field->name, "thinking") == 0);
}

static struct veil_tail *find_tail(struct veil *veil, const struct event *event, const struct event_field *field,
                                   const char *key)
{
    for (struct veil_tail *tail = veil->tails; tail; tail = tail->next)
        if (tail->field == field && strcmp(tail->key, key) == 0)
            return tail;
    struct veil_tail *tail = xcalloc(1, sizeof(*tail));
    *tail = (struct veil_tail){.type = event->type, .field = field, .key = xstrdup(key), .next = veil->tails};
    strbuf_init(&tail->text);
    veil->tails = tail;
    return tail;
}

static void free_tail(struct veil_tail *tail)
{
    free(tail->key);
    explicit_bzero(tail->text.buf, tail->text.len);
    strbuf_release(&tail->text);
    free(tail);
}

/* The text of a piece with what was held back before it; NULL when nothing of it can be told yet. */
static const char *next_piece(struct veil *veil, struct veil_tail *tail, const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    strbuf_addstr(&tail->text, text);
    size_t took = redact_part(&out, tail->text.buf, tail->text.len);
    memmove(tail->text.buf, tail->text.buf + took, tail->text.len - took);
    strbuf_set_len(&tail->text, tail->text.len - took);
    return out.len ? arena_memdup0(&veil->arena, out.buf, out.len) : NULL;
}

/* False when nothing of the event is left to be told. */
static bool redact_stream(struct veil *veil, struct event *event, const char *key)
{
    size_t count;
    const struct event_field *fields = event_fields(event->type, &count);
    bool told = false;
    for (size_t i = 0; i < count; i++) {
        const char *text = is_piece(&fields[i]) ? text_of(event, &fields[i]) : NULL;
        if (!text)
            continue;
        struct veil_tail *tail = find_tail(veil, event, &fields[i], key);
        tail->turn = event->turn;
        tail->step = event->type == EVENT_MODEL_DELTA ? event->model_delta.step : 0;
        text = next_piece(veil, tail, text);
        set_text(event, &fields[i], text);
        told |= text != NULL;
    }
    return told;
}

/* Does nothing more of the stream come once this has happened? */
static bool ends(const struct event *event, const struct veil_tail *tail)
{
    const char *call = event->tool_finished.call ? event->tool_finished.call : "";
    switch (event->type) {
    case EVENT_MODEL_REQUESTED:
    case EVENT_MODEL_RESPONDED:
    case EVENT_MODEL_FAILED:
        return tail->type == EVENT_MODEL_DELTA;
    case EVENT_TOOL_FINISHED:
        return tail->type == EVENT_TOOL_OUTPUT && strncmp(tail->key, call, strlen(call)) == 0 &&
               tail->key[strlen(call)] == ' ';
    case EVENT_PROGRAM_ENDED:
        return tail->type == EVENT_PROGRAM_OUTPUT && event->program_ended.program &&
               strcmp(tail->key, event->program_ended.program) == 0;
    case EVENT_WRITES_CLOSED:
    case EVENT_TURN_FINISHED:
        return tail->type != EVENT_PROGRAM_OUTPUT;
    case EVENT_SESSION_ENDED:
        return true;
    default:
        return false;
    }
}

/* What is held back stood in an event of its own once; its key says which. */
static struct event event_of(const struct veil_tail *tail, struct arena *arena)
{
    struct event event = {.type = tail->type, .type_name = event_type_name(tail->type), .turn = tail->turn};
    const char *blank = strchr(tail->key, ' ');
    if (tail->type == EVENT_MODEL_DELTA) {
        event.model_delta.step = tail->step;
    } else if (tail->type == EVENT_PROGRAM_OUTPUT) {
        event.program_output.program = arena_strdup(arena, tail->key);
    } else if (blank) {
        event.tool_output.call = arena_memdup0(arena, tail->key, (size_t)(blank - tail->key));
        event.tool_output.stream = arena_strdup(arena, blank + 1);
    }
    set_text(&event, tail->field, arena_memdup0(arena, tail->text.buf, tail->text.len));
    return event;
}

/* What ended while a secret may have begun was none. */
static int tell_tails(struct veil *veil, const struct event *before, struct veil_out *out)
{
    int result = 0;
    for (struct veil_tail **place = &veil->tails; *place;) {
        struct veil_tail *tail = *place;
        if (!ends(before, tail)) {
            place = &tail->next;
            continue;
        }
        *place = tail->next;
        if (tail->text.len && result == 0) {
            struct event event = event_of(tail, &veil->arena);
            redact_fields(&event, &veil->arena);
            result = out->emit(out, &event);
        }
        free_tail(tail);
    }
    return result;
}

/* ---- both ---- */

static int emit_veiled(struct veil *veil, struct event *event, struct veil_out *out)
{
    CLEANUP(free) char *key = key_of(event);
    if (tell_tails(veil, event, out) < 0)
        return -1;
    if (key && !redact_stream(veil, event, key))
        return 0;
    if (!key)
        redact_fields(event, &veil->arena);
    return out->emit(out, event);
}

bool veil_is_clear(const struct veil *veil)
{
    return !redact_any() && !veil->tails;
}

int veil_emit(struct veil *veil, struct event *event, struct veil_out *out)
{
    if (veil_is_clear(veil))
        return out->emit(out, event);
    struct event copy = *event;
    int result = emit_veiled(veil, &copy, out);
    arena_reset(&veil->arena);
    event->seq = copy.seq;
    event->t = copy.t;
    event->raw = copy.raw;
    event->raw_len = copy.raw_len;
    return result;
}

void veil_release(struct veil *veil)
{
    while (veil->tails) {
        struct veil_tail *next = veil->tails->next;
        free_tail(veil->tails);
        veil->tails = next;
    }
    arena_release(&veil->arena);
}
