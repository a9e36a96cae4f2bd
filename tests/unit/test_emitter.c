/* Tests of emitters: order and copies of the queue, mapped texts, and the published schema. */

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/emitter.h"
#include "support/test.h"
#include <pthread.h>
#include <string.h>

#define SCHEMA SOURCE_DIR "/docs/transcript.schema.json"

struct recorder {
    struct emitter emitter;
    struct strbuf ops;
};

static int record(struct emitter *emitter, struct event *events, size_t count)
{
    struct recorder *recorder = CONTAINER_OF(emitter, struct recorder, emitter);
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&recorder->ops, "%s ", events[i].workspace_op.op);
    return 0;
}

static void push(struct event_queue *queue, const char *op)
{
    CLEANUP(free) char *own = xstrdup(op); /* gone before the queue is emptied */
    event_queue_push(queue, &(struct event){.type = EVENT_WORKSPACE_OP, .workspace_op = {.op = own}});
}

static void *push_from_thread(void *queue)
{
    push(queue, "thread");
    return NULL;
}

TEST(a_queue_keeps_order_and_copies)
{
    struct recorder recorder = {.emitter = {.emit = record}, .ops = STRBUF_INIT};
    struct event_queue *queue = event_queue_new();
    pthread_t thread;
    push(queue, "first");
    assert_int_equal(pthread_create(&thread, NULL, push_from_thread, queue), 0);
    pthread_join(thread, NULL);
    event_queue_emit(queue, &recorder.emitter);
    push(queue, "last");
    event_queue_emit(queue, &recorder.emitter);
    event_queue_emit(queue, &recorder.emitter); /* nothing is left */
    assert_string_equal(recorder.ops.buf, "first thread last ");
    push(queue, "never emitted");
    event_queue_free(queue);
    strbuf_release(&recorder.ops);
}

static const char *shout(struct arena *arena, const char *text, bool json, void *user)
{
    (void)user;
    return !json && strcmp(text, "old") == 0 ? arena_strdup(arena, "NEW") : NULL;
}

TEST(texts_inside_records_are_mapped_in_a_copy)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    static const char *const loses[] = {"old", "kept"};
    const struct event_proposed_file files[] = {{.path = "a", .diff = "same"}, {.path = "old", .loses = {loses, 2}}};
    struct event event = {.type = EVENT_WRITE_PROPOSED, .write_proposed = {.call = "old", .files = {files, 2}}};
    event_map_texts(&event, &arena, shout, NULL);
    assert_string_equal(event.write_proposed.call, "NEW");
    assert_string_equal(event.write_proposed.files.items[1].path, "NEW");
    assert_string_equal(event.write_proposed.files.items[1].loses.items[0], "NEW");
    assert_string_equal(event.write_proposed.files.items[1].loses.items[1], "kept");
    assert_string_equal(files[1].path, "old");
    assert_string_equal(loses[0], "old");
}

/* The schema: one definition per record, one branch per type. Unknown fields are allowed everywhere. */

static void schema_type(struct json_writer *w, const char *type, bool nullable)
{
    if (!nullable) {
        json_add_str(w, "type", type);
        return;
    }
    json_open(w, "type", '[');
    json_add_str(w, NULL, type);
    json_add_str(w, NULL, "null");
    json_close(w, ']');
}

static const char *record_name(enum event_record record)
{
    static const char *const names[] = {
#define REC(name, ...) [EVENT_RECORD_##name] = #name,
#define EVENT(ID, member, name, doc, ...)
#include "event/event.def"
#undef EVENT
#undef REC
    };
    return names[record];
}

static void schema_reference(struct json_writer *w, enum event_record record)
{
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    strbuf_addf(&path, "#/$defs/%s", record_name(record));
    json_add_str(w, "$ref", path.buf);
}

static void schema_items(struct json_writer *w, const struct event_field *field)
{
    json_add_str(w, "type", "array");
    json_open(w, "items", '{');
    if (field->kind == EVENT_KIND_RECS)
        schema_reference(w, field->record);
    else
        json_add_str(w, "type", field->kind == EVENT_KIND_STRS ? "string" : "integer");
    json_close(w, '}');
}

static void schema_field(struct json_writer *w, const struct event_field *field)
{
    json_open(w, field->name, '{');
    switch (field->kind) {
    case EVENT_KIND_STR:
    case EVENT_KIND_NSTR:
        schema_type(w, "string", field->kind == EVENT_KIND_NSTR);
        break;
    case EVENT_KIND_JSON:
        break; /* any value */
    case EVENT_KIND_LIST:
        json_add_str(w, "type", "array");
        break;
    case EVENT_KIND_OBJ:
        json_add_str(w, "type", "object");
        break;
    case EVENT_KIND_INT:
    case EVENT_KIND_OINT:
    case EVENT_KIND_NINT:
        schema_type(w, "integer", field->kind == EVENT_KIND_NINT);
        break;
    case EVENT_KIND_NUM:
    case EVENT_KIND_NNUM:
        schema_type(w, "number", field->kind == EVENT_KIND_NNUM);
        break;
    case EVENT_KIND_BOOL:
    case EVENT_KIND_YES:
    case EVENT_KIND_FLAG:
        json_add_str(w, "type", "boolean");
        break;
    case EVENT_KIND_STRS:
    case EVENT_KIND_INTS:
    case EVENT_KIND_RECS:
        schema_items(w, field);
        break;
    case EVENT_KIND_OREC:
        schema_reference(w, field->record);
        break;
    }
    json_close(w, '}');
}

static void schema_fields(struct json_writer *w, struct event_layout layout)
{
    json_open(w, "properties", '{');
    for (size_t i = 0; i < layout.count; i++)
        schema_field(w, &layout.fields[i]);
    json_close(w, '}');
}

static void schema_event(struct json_writer *w, enum event_type type)
{
    json_open(w, NULL, '{');
    json_open(w, "if", '{');
    json_open(w, "properties", '{');
    json_open(w, "type", '{');
    json_add_str(w, "const", event_type_name(type));
    json_close(w, '}');
    json_close(w, '}');
    json_close(w, '}');
    json_open(w, "then", '{');
    json_add_str(w, "description", event_type_doc(type));
    schema_fields(w, event_layout(type));
    json_close(w, '}');
    json_close(w, '}');
}

static void write_schema(struct strbuf *out)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_add_str(&w, "title", "One line of a Keyturn transcript");
    json_add_str(&w, "type", "object");
    json_add_raw(&w, "required", "[\"type\"]");
    json_add_raw(&w, "properties",
                 "{\"seq\":{\"type\":\"integer\"},\"t\":{\"type\":\"integer\"},"
                 "\"turn\":{\"type\":\"integer\"},\"type\":{\"type\":\"string\"}}");
    json_open(&w, "allOf", '[');
    for (int type = EVENT_OTHER + 1; type < EVENT_TYPE_COUNT; type++)
        schema_event(&w, (enum event_type)type);
    json_close(&w, ']');
    json_open(&w, "$defs", '{');
    for (int record = EVENT_RECORD_NONE + 1; record < EVENT_RECORD_COUNT; record++) {
        json_open(&w, record_name((enum event_record)record), '{');
        json_add_str(&w, "type", "object");
        schema_fields(&w, event_record_layout((enum event_record)record));
        json_close(&w, '}');
    }
    json_close(&w, '}');
    json_close(&w, '}');
}

/* docs/transcript.schema.json is event.def for other people's programs (UPDATE_GOLDEN=1 writes it). */
TEST(the_published_schema_is_that_of_the_table)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf compact = STRBUF_INIT, text = STRBUF_INIT, published = STRBUF_INIT;
    struct err err = ERR_INIT;
    write_schema(&compact);
    json_write(&text, json_parse(&arena, compact.buf, compact.len, NULL), JSON_PRETTY);
    strbuf_addch(&text, '\n');
    if (getenv("UPDATE_GOLDEN"))
        assert_int_equal(file_replace(SCHEMA, text.buf, text.len, 0644, &err), 0);
    if (file_read(SCHEMA, &published, 1 << 20, &err))
        fail_msg("%s", err.text);
    assert_string_equal(published.buf, text.buf);
}
