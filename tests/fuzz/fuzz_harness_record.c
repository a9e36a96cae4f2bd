/* Fuzzes the event pipe of a script, in two pieces of any size, and its printed output. The records do not depend on
 * the pieces, every event is one line of JSON with the execution's id, and no secret is in it. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "events.h"
#include "record.h"
#include "stream.h"
#include <stdint.h>
#include <string.h>

#define SECRET "sesame"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_on(struct event_sink *sink, struct stream *printed, const struct record *record)
{
    switch (record->kind) {
    case RECORD_RESULT:
        event_result(sink, record->value);
        break;
    case RECORD_INTERMEDIATE:
        event_intermediate(sink, record->text, record->len, record->value);
        break;
    case RECORD_LOG:
        event_log(sink, record->more, record->text, record->len);
        break;
    case RECORD_STDOUT:
    case RECORD_STDERR:
        stream_add(printed, sink, record->text, record->len);
        break;
    case RECORD_END:
        if (record->text)
            event_error(sink, record->text, record->more);
        event_done(sink);
        break;
    default:
        if (record->kind == RECORD_BAD && (!record->text || !*record->text))
            BUG("bad without a reason");
    }
}

/* The events of the bytes when they arrive in two pieces. */
static void forward(struct strbuf *out, const char *bytes, size_t len, size_t cut)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event_sink sink;
    struct record_reader reader;
    struct stream printed;
    struct record record;
    event_sink_init(&sink);
    sink.id = "e1";
    mask_add(&sink.mask, "KEY", SECRET);
    record_reader_init(&reader);
    stream_init(&printed, "stdout");
    for (int piece = 0; piece < 2; piece++) {
        record_reader_add(&reader, bytes + (piece ? cut : 0), piece ? len - cut : cut);
        while (record_reader_next(&reader, &arena, &record)) {
            send_on(&sink, &printed, &record);
            arena_reset(&arena);
        }
    }
    stream_finish(&printed, &sink);
    strbuf_add(out, sink.out.buf, sink.out.len);
    stream_release(&printed);
    record_reader_release(&reader);
    event_sink_release(&sink);
}

static void check_line(const char *line, size_t len)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct json *event = json_parse(&arena, line, len, &err);
    if (!event)
        BUG("an event that is no JSON: %s", err.text);
    if (strcmp(json_str(json_get(event, "execution_id"), ""), "e1") != 0)
        BUG("an event of another execution");
    if (memmem(line, len, SECRET, strlen(SECRET)))
        BUG("a secret in an event");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf) struct strbuf once = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf twice = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf record = STRBUF_INIT;
    const char *bytes = (const char *)data;
    forward(&once, bytes, size, 0);
    forward(&twice, bytes, size, size ? data[0] % size : 0);
    if (strcmp(once.buf, twice.buf) != 0)
        BUG("pieces make a difference:\n%s\n%s", once.buf, twice.buf);
    /* As printed text: all of it arrives, in any pieces. */
    record_write_text(&record, RECORD_STDOUT, bytes, size);
    forward(&once, record.buf, record.len, record.len / 2);
    for (const char *line = once.buf, *end; (end = strchr(line, '\n')); line = end + 1)
        check_line(line, (size_t)(end - line));
    return 0;
}
