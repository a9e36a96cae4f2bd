/* Fuzzes lines of a journal. An accepted line is written back as the same printable bytes, and an event without its
 * line as the same fields. The decoder's scanner and json_parse accept the same lines. */

#include "base/json.h"
#include "base/json_scan.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "event/words.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Encodes it without its line; the result is printable. */
static bool same_field(const struct event *a, const struct event *b, const struct event_field *field)
{
    CLEANUP(strbuf) struct strbuf left = STRBUF_INIT, right = STRBUF_INIT;
    event_encode_field(&left, field, &a->session_started);
    event_encode_field(&right, field, &b->session_started);
    json_make_printable(&left, 0);
    json_make_printable(&right, 0);
    return strcmp(left.buf, right.buf) == 0;
}

static void check_same(const struct event *a, const struct event *b)
{
    struct event_layout layout = event_layout(a->type);
    if (a->type != b->type || strcmp(a->type_name, b->type_name) != 0 || a->turn != b->turn ||
        (a->seq >= 0 && a->seq != b->seq) || (a->t >= 0 && a->t != b->t))
        BUG("the head of the event is another");
    for (size_t i = 0; i < layout.count; i++)
        if (!same_field(a, b, &layout.fields[i]))
            BUG("%s.%s is another", a->type_name, layout.fields[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT, numbered = STRBUF_INIT, summary = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    const char *text = (const char *)data;
    struct event event, back, renumbered;
    const struct json *value = json_parse(&arena, text, size, NULL);
    const struct json *type = json_get(value, "type");
    if (event_decode(&event, &arena, text, size, NULL) < 0) {
        /* A type without fields can only be refused for its seq, t or turn. */
        if (type && type->type == JSON_STRING && event_type_from_name(type->text, type->len) == EVENT_OTHER &&
            !json_get(value, "seq") && !json_get(value, "t") && !json_get(value, "turn"))
            BUG("json_parse takes it and the scanner does not");
        return 0;
    }
    if (!value || value->type != JSON_OBJECT || strcmp(json_str(type, ""), event.type_name) != 0)
        BUG("the scanner takes it and json_parse does not");
    event_encode(&line, &event);
    strbuf_add(&whole, text, size);
    json_make_printable(&whole, 0);
    if (line.len != whole.len || memcmp(line.buf, whole.buf, whole.len) != 0)
        BUG("the raw line is another");
    if (!json_parse(&arena, whole.buf, whole.len, NULL))
        BUG("what is printed is no JSON");

    event_encode_numbered(&numbered, &event);
    if (event_decode(&renumbered, &arena, numbered.buf, numbered.len, NULL) < 0)
        BUG("the numbered line cannot be read");
    if (!json_is_printable(line.buf, line.len) || !json_is_printable(numbered.buf, numbered.len))
        BUG("a line is not printable");
    check_same(&event, &renumbered);

    strbuf_reset(&line);
    event.raw = NULL;
    event_encode(&line, &event);
    if (event_decode(&back, &arena, line.buf, line.len, NULL) < 0)
        BUG("what was written cannot be read");
    check_same(&event, &back);
    event_words(&summary, WORDS_ROW, NULL, &event);
    return 0;
}
