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
    push(queue, "nobody emits this");
    event_queue_free(queue);
    strbuf_release(&recorder.ops);
}

static const char *shout(struct arena *arena, const char *text, bool json, void *user)
{
    (void)user;
    return !json && strcmp(text, "old") == 0 ? arena_strdup(arena, "NEW") : NULL;
}

TEST(texts_inside_records_are_mapped_without_touching_what_was_borrowed)
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

/* docs/transcript.schema.json is event.def for other people's programs (UPDATE_GOLDEN=1 writes it). */
TEST(the_published_schema_is_that_of_the_table)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf compact = STRBUF_INIT, text = STRBUF_INIT, published = STRBUF_INIT;
    struct err err = ERR_INIT;
    event_schema(&compact);
    json_write(&text, json_parse(&arena, compact.buf, compact.len, NULL), JSON_PRETTY);
    strbuf_addch(&text, '\n');
    if (getenv("UPDATE_GOLDEN"))
        assert_int_equal(file_replace(SCHEMA, text.buf, text.len, 0644, &err), 0);
    if (file_read(SCHEMA, &published, 1 << 20, &err))
        fail_msg("%s", err.text);
    assert_string_equal(published.buf, text.buf);
}
