/* Tests of choosing the tools that the model is offered. */

#include "base/mem.h"
#include "support/test.h"
#include "turn/prepare.h"
#include <string.h>

#define TOOLS 40

static void never(struct tool_run *run, struct tool_reply *reply)
{
    (void)run, (void)reply;
}

struct fixture {
    struct tool tools[TOOLS];
    char names[TOOLS][32];
    struct registry *registry;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->registry = registry_new();
    for (int i = 0; i < TOOLS; i++) {
        snprintf(f->names[i], sizeof(f->names[i]), "tool_%d", i);
        f->tools[i] = (struct tool){.spec = {.name = f->names[i],
                                             .description = "does a thing",
                                             .effect = EFFECT_READ_ONLY,
                                             .parameters = "{\"type\":\"object\"}"},
                                    .work = never};
    }
    f->tools[38].spec.description = "Sends a message to the weather station";
    f->tools[5].spec.description = "Forecast of the weather";
    f->tools[30].spec.name = "weather_map";
    for (int i = 0; i < TOOLS; i++) {
        struct err err = ERR_INIT;
        if (registry_add(f->registry, &f->tools[i], &err))
            fail_msg("%s", err.text);
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    registry_free(f->registry);
    free(f);
    return 0;
}

TEST_WITH(without_selection_all_tools_are_offered, setup, teardown)
{
    struct fixture *f = *state;
    size_t count;
    CLEANUP(free) const struct tool **tools = select_tools(f->registry, "weather", false, SELECT_MAX, &count);
    assert_int_equal(count, TOOLS);
    for (size_t i = 0; i < count; i++)
        assert_ptr_equal(tools[i], &f->tools[i]);
}

TEST_WITH(few_tools_are_all_offered, setup, teardown)
{
    struct fixture *f = *state;
    size_t count;
    CLEANUP(free) const struct tool **tools = select_tools(f->registry, "weather", true, TOOLS, &count);
    assert_int_equal(count, TOOLS);
    assert_ptr_equal(tools[39], &f->tools[39]);
}

TEST_WITH(the_best_come_in_their_order_and_the_front_fills_up, setup, teardown)
{
    struct fixture *f = *state;
    size_t count;
    CLEANUP(free) const struct tool **tools = select_tools(f->registry, "what is the weather?", true, 5, &count);
    assert_int_equal(count, 5);
    static const int expected[] = {0, 1, 5, 30, 38};
    for (size_t i = 0; i < 5; i++)
        assert_ptr_equal(tools[i], &f->tools[expected[i]]);
}

TEST_WITH(at_most_twenty_five_by_default, setup, teardown)
{
    struct fixture *f = *state;
    size_t count;
    CLEANUP(free) const struct tool **tools = select_tools(f->registry, "weather", true, SELECT_MAX, &count);
    assert_int_equal(count, 25);
    assert_ptr_equal(tools[24], &f->tools[38]);
    assert_ptr_equal(tools[23], &f->tools[30]);
}

TEST_WITH(without_words_the_first_tools_are_offered, setup, teardown)
{
    struct fixture *f = *state;
    size_t count;
    CLEANUP(free) const struct tool **tools = select_tools(f->registry, "", true, 3, &count);
    assert_int_equal(count, 3);
    assert_ptr_equal(tools[2], &f->tools[2]);
    struct registry *empty = registry_new();
    CLEANUP(free) const struct tool **none = select_tools(empty, "x", true, 3, &count);
    assert_int_equal(count, 0);
    assert_non_null(none);
    registry_free(empty);
}
