/* Tests of which fields count as a difference between two events. */

#include "base/mem.h"
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
