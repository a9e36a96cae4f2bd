/* Tests that one call has one outcome, for cases that only the state machine of write.c can reach. The write gate
 * closes between two of its steps, the call is canceled in each of them, and any of its events may fail to be recorded.
 * tests/cases has everything that a user or a tool can do to a write. */

#include "base/mem.h"
#include "support/test.h"
#include "support/write_rig.h"
#include <string.h>

/* A tool that proposes to change f.txt from "old" to "new". */
struct writing {
    struct write_rig test;
    struct fake_tool tool;
};

static int set_up_write(void **state)
{
    struct writing *f = *state = xcalloc(1, sizeof(*f));
    write_rig_init(&f->test);
    fake_tool_init(&f->tool, "write_file", EFFECT_LOCAL_WRITE);
    scratch_write(&f->test.rig.scratch, "work/f.txt", "old\n");
    f->tool.asks = FAKE_PROPOSES;
    f->tool.path = "f.txt";
    f->tool.text = "new\n";
    return 0;
}

static int tear_down_write(void **state)
{
    struct writing *f = *state;
    write_rig_release(&f->test);
    fake_tool_release(&f->tool);
    free(f);
    return 0;
}

#define WRITE_TEST(name) TEST_WITH(name, set_up_write, tear_down_write)

static struct bounded_call *start(struct writing *f)
{
    return write_rig_start(&f->test, &f->tool.tool, "c1", NULL, 60, 5);
}

/* Runs a call from its start until nothing is left to do. */
static const struct outcome *run(struct writing *f)
{
    size_t before = f->test.heard.outcome_count;
    start(f);
    assert_int_equal(f->test.heard.outcome_count, before); /* never from within the call */
    assert_int_equal(f->test.turn->host.pending, 1);
    write_rig_run(&f->test);
    assert_int_equal(f->test.heard.outcome_count, before + 1);
    return &f->test.heard.outcomes[before];
}

static void assert_log(const struct writing *f, const char *expected)
{
    assert_string_equal(f->test.heard.words.buf, expected);
}

static void assert_file(const struct writing *f, const char *expected)
{
    CLEANUP(free) char *text = scratch_read(&f->test.rig.scratch, "work/f.txt", NULL);
    assert_string_equal(text, expected);
}

/* ---- an invalid answer ---- */

WRITE_TEST(a_decision_that_decides_nothing_is_refused)
{
    struct writing *f = *state;
    f->test.never_answers = true;
    start(f);
    write_rig_run(&f->test);
    assert_string_equal(write_rig_say(&f->test, &(struct decision){.kind = DECISION_NONE}), "invalid decision");
    assert_string_equal(write_rig_say(&f->test, &(struct decision){.kind = DECISION_DENIED}), "");
    write_rig_run(&f->test);
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

/* ---- the write gate closes ---- */

static void close_gate(struct write_rig *test)
{
    call_states_close_writes(&test->turn->tally.trace);
}

WRITE_TEST(the_gate_is_looked_at_before_the_checkpoint)
{
    struct writing *f = *state;
    f->test.on_ask = close_gate;
    assert_denied(run(f), DENIAL_DEADLINE, "nothing was written");
    assert_log(f, "ask c1, denied c1");
    assert_file(f, "old\n");
}

WRITE_TEST(the_gate_is_looked_at_again_before_the_write)
{
    struct writing *f = *state;
    f->test.on_checkpoint = close_gate;
    assert_denied(run(f), DENIAL_DEADLINE, "nothing was written");
    assert_log(f, "ask c1, checkpoint c1, denied c1");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

WRITE_TEST(a_commit_is_recorded_even_if_the_gate_closes)
{
    struct writing *f = *state;
    f->tool.confirmed_ms = 1000;
    start(f);
    write_rig_run_for(&f->test, 500);
    call_states_close_writes(&f->test.turn->tally.trace);
    write_rig_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
}

/* ---- the call is canceled ---- */

WRITE_TEST(cancel_while_asking)
{
    struct writing *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    write_rig_run(&f->test);
    bounded_cancel(call);
    write_rig_run(&f->test);
    assert_failed(&f->test.heard.outcomes[0], true, "canceled by the user");
    assert_false(f->test.answered);
    assert_log(f, "ask c1, failure c1");
    assert_file(f, "old\n");
}

WRITE_TEST(cancel_while_the_files_are_compared)
{
    struct writing *f = *state;
    f->test.never_answers = true;
    struct bounded_call *call = start(f);
    write_rig_run(&f->test);
    write_rig_answer(&f->test);
    assert_true(f->test.answered);
    bounded_cancel(call);
    write_rig_run(&f->test);
    assert_log(f, "ask c1, failure c1, late c1 (0 ms)");
    assert_int_equal(f->tool.executions, 1);
    assert_file(f, "old\n");
}

WRITE_TEST(cancel_waits_for_a_commit)
{
    struct writing *f = *state;
    f->tool.confirmed_ms = 1000;
    struct bounded_call *call = start(f);
    write_rig_run_for(&f->test, 500);
    assert_int_equal(f->tool.confirmed, 1);
    bounded_cancel(call);
    assert_int_equal(f->tool.cancels, 0);
    write_rig_run(&f->test);
    assert_log(f, "ask c1, checkpoint c1, applied c1, result c1");
    assert_file(f, "new\n");
}

/* ---- the journal cannot be written ---- */

static void stop_recording(struct write_rig *test)
{
    test->cannot_record = true;
}

WRITE_TEST(a_checkpoint_that_cannot_be_recorded_stops_the_write)
{
    struct writing *f = *state;
    f->test.on_decided = stop_recording;
    assert_failed(run(f), true, "canceled by the user");
    assert_log(f, "ask c1, failure c1");
    assert_file(f, "old\n");
}

/* Any event of the write may fail to be recorded, alone or with all that follow. */
static bool run_refusing(size_t n, bool more, enum fake_asking asks)
{
    void *state;
    set_up_write(&state);
    struct writing *f = state;
    f->tool.asks = asks;
    f->test.refuses = n;
    f->test.refuses_more = more;
    start(f);
    write_rig_run(&f->test);
    if (engine_question(f->test.rig.engine)) /* which no sink received */
        assert_int_equal(write_rig_cancel(&f->test), 0);
    write_rig_run(&f->test);
    assert_int_equal(f->test.heard.outcome_count, 1);
    CLEANUP(free) char *kept = scratch_list(&f->test.rig.scratch, "checkpoints");
    CLEANUP(free) char *text = scratch_read(&f->test.rig.scratch, "work/f.txt", NULL);
    bool confirmed = f->tool.confirmed > 0;
    if (confirmed) {
        assert_int_equal(f->test.decisions, 1);
        assert_int_equal(f->test.checkpoints, asks == FAKE_PROPOSES);
    }
    assert_string_equal(text, confirmed && asks == FAKE_PROPOSES ? "new\n" : "old\n");
    assert_string_equal(kept, f->test.checkpoints ? f->test.checkpoint : "");
    bool refused = f->test.emitted >= n;
    tear_down_write(&state);
    return refused;
}

TEST(nothing_is_written_that_is_not_recorded)
{
    static const enum fake_asking ways[] = {FAKE_PROPOSES, FAKE_ASKS_FIELD};
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        for (int more = 0; more < 2; more++) {
            size_t n = 1;
            while (run_refusing(n, more, ways[i]))
                n++;
            assert_true(n > 6); /* proposed, held, decided, released, applied, finished */
        }
}
