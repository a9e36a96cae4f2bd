/* Tests calls that wait for a thread of the pool: the wait does not count as the tool's time, but it has a limit, and a
 * call that timed out before its start never starts. The pool of this program has two threads. */

#include "base/mem.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/test.h"
#include "support/turn_check.h"
#include <stdlib.h>

#define SECONDS(s) ((int64_t)((s)*1e6))

static struct {
    struct turn_rig rig;
    struct fake_tool hang, quick;
    struct loop_task task;
    int64_t pass_us;
    bool let_go_first;
} test;

/* Both threads are busy and the third call is in the queue: now time passes. */
static void when_all_hang(struct loop_task *task)
{
    if (atomic_load(&test.hang.executions) < 2 || turn_rig_count(&test.rig, EVENT_TOOL_STARTED) < 3) {
        loop_post(test.rig.loop, task, when_all_hang);
        return;
    }
    fake_clock_advance(&test.rig.clock, test.pass_us);
    if (test.let_go_first)
        fake_tool_let_go(&test.hang);
}

static void let_go(void *none)
{
    (void)none;
    fake_tool_let_go(&test.hang);
}

static void run(int64_t pass_us, bool let_go_first)
{
    static const char *const keys[] = {"n:{n}", NULL};
    turn_rig_init(&test.rig);
    fake_tool_init(&test.hang, "hang", EFFECT_READ_ONLY);
    fake_tool_init(&test.quick, "quick", EFFECT_READ_ONLY);
    fake_tool_on_pool(&test.hang);
    fake_tool_on_pool(&test.quick);
    test.hang.tool.spec.timeout_s = test.quick.tool.spec.timeout_s = 10;
    test.hang.hangs = true;
    test.hang.tool.spec.resource_keys = keys; /* so that two of them are in one wave */
    test.pass_us = pass_us;
    test.let_go_first = let_go_first;
    turn_rig_add_tool(&test.rig, &test.hang.tool);
    turn_rig_add_tool(&test.rig, &test.quick.tool);
    turn_rig_open(&test.rig);
    struct fake_answer *a = fake_provider_answer(test.rig.model);
    fake_answer_call(a, "h1", "hang", "{\"n\":1}");
    fake_answer_call(a, "h2", "hang", "{\"n\":2}");
    fake_answer_call(a, "q", "quick", "{}");
    loop_post(test.rig.loop, &test.task, when_all_hang);
}

static void end(void)
{
    turn_check_end(&test.rig);
    fake_tool_release(&test.hang);
    fake_tool_release(&test.quick);
}

TEST(waiting_for_a_thread_is_not_the_tools_time)
{
    run(SECONDS(9), true);
    turn_rig_turn(&test.rig, "go");
    assert_string_equal(turn_check_outcome(&test.rig, "q"), "result");
    assert_int_equal(turn_rig_finished(&test.rig, "q")->tool_finished.elapsed_ms, 0);
    assert_int_equal(turn_rig_finished(&test.rig, "h1")->tool_finished.elapsed_ms, 9000);
    end();
}

static void let_go_when_timed_out(struct fake_provider *provider, const struct model_request *request, void *data)
{
    (void)provider;
    (void)request;
    (void)data;
    if (turn_rig_finished(&test.rig, "q"))
        let_go(NULL);
}

TEST(call_that_finds_no_thread_times_out_and_says_so)
{
    run(SECONDS(11), false);
    test.rig.model->asked = let_go_when_timed_out;
    turn_rig_turn(&test.rig, "go");
    assert_string_equal(turn_check_outcome(&test.rig, "h1"), "timeout");
    assert_string_equal(turn_check_outcome(&test.rig, "q"), "timeout");
    const struct event *finished = turn_rig_finished(&test.rig, "q");
    assert_string_equal(turn_check_json(&test.rig, event_json(finished, "timeout"), "queued"), "true");
    assert_string_equal(turn_check_json(&test.rig, event_json(finished, "timeout"), "retryable"), "true");
    assert_string_equal(turn_check_json(&test.rig, event_json(turn_rig_finished(&test.rig, "h1"), "timeout"), "queued"),
                        "");
    assert_string_equal(turn_check_json(&test.rig, turn_check_message(&test.rig, "q"), "error"),
                        "quick did not start within its time limit of 10 s; other calls kept all threads busy");
    assert_int_equal(test.quick.executions, 0);
    end();
}

void test_begin(void)
{
    setenv("UV_THREADPOOL_SIZE", "2", 1);
}
