/* Tests of which fields count as a difference between two events. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "event/compare.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

TEST(names_of_kept_outputs_do_not_count)
{
    static const struct {
        const char *recorded, *got;
        bool differs;
    } cases[] = {
        {"{\"artifact\":\"artifact://art_1\"}", "{\"artifact\":\"artifact://art_2\"}", false},
        {"{\"stdout_artifact\":\"artifact://art_1\"}", "{\"stdout_artifact\":\"artifact://art_2\"}", false},
        {"{\"stdout_artifact\":\"artifact://art_1\"}", "{}", true},
        {"{\"artifact\":\"artifact://plan@1\"}", "{\"artifact\":\"artifact://plan@2\"}", true},
        {"{\"from\":\"artifact://art_1\"}", "{\"from\":\"artifact://art_2\"}", true},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct event_layout layout = event_layout(EVENT_TOOL_FINISHED);
        const struct event_field *result = NULL;
        struct event_result_info recorded = {.output = cases[i].recorded}, got = {.output = cases[i].got};
        struct event was = {.type = EVENT_TOOL_FINISHED, .tool_finished = {.result = &recorded}};
        struct event is = {.type = EVENT_TOOL_FINISHED, .tool_finished = {.result = &got}};
        struct difference first;
        for (size_t k = 0; k < layout.count; k++)
            if (strcmp(layout.fields[k].name, "result") == 0)
                result = &layout.fields[k];
        assert_int_equal(event_field_differs(&arena, result, (struct compared){.event = &was},
                                             (struct compared){.event = &is}, &first),
                         cases[i].differs);
    }
}

static bool messages_differ(const char *recorded, const char *got)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;
    struct event was, is;
    struct difference first;
    strbuf_addf(&one, "{\"type\":\"turn.prepared\",\"messages\":%s}", recorded);
    strbuf_addf(&two, "{\"type\":\"turn.prepared\",\"messages\":%s}", got);
    assert_int_equal(event_decode(&was, &arena, one.buf, one.len, NULL), 0);
    assert_int_equal(event_decode(&is, &arena, two.buf, two.len, NULL), 0);
    struct event_layout layout = event_layout(EVENT_TURN_PREPARED);
    return event_field_differs(&arena, &layout.fields[0], (struct compared){.event = &was},
                               (struct compared){.event = &is}, &first);
}

#define HEAD "[{\"role\":\"system\",\"text\":\"P\"},{\"role\":\"system\",\"text\":\"today\"},"
#define TAIL "{\"role\":\"system\",\"text\":\"pack\"},{\"role\":\"user\",\"text\":\"and?\"}]"

/* Older versions repeated the texts of earlier turns here. */
TEST(earlier_turns_do_not_count)
{
    static const char was[] = HEAD "{\"role\":\"user\",\"text\":\"x\"},{\"role\":\"assistant\",\"text\":\"y\"}," TAIL;
    static const char is[] = HEAD "{\"role\":\"earlier\",\"text\":\"4 messages of earlier turns\"}," TAIL;
    assert_false(messages_differ(was, is));
    assert_false(messages_differ(is, is));
    assert_true(messages_differ(was, HEAD "{\"role\":\"system\",\"text\":\"other pack\"}," TAIL));
    assert_true(
        messages_differ(was, HEAD "{\"role\":\"system\",\"text\":\"pack\"},{\"role\":\"user\",\"text\":\"or?\"}]"));
}
