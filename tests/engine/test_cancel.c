/* Tests canceling at every point at which a turn waits, and at every event. A turn that does everything runs once to
 * count, and then once for each point, canceled a little later each time. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/rich_turn.h"
#include "support/test.h"

static void cancel(struct rich_turn *rich)
{
    turn_check_submit(&rich->rig, &(struct intent){.type = INTENT_CANCEL}); /* refused after the turn */
}

/* A file has its new content if and only if the journal has its write.applied. */
static void check_files(struct rich_turn *rich)
{
    struct turn_rig *rig = &rich->rig;
    for (size_t i = 0; i < COUNT_OF(rich_files); i++) {
        CLEANUP(free) char *content = turn_rig_read(rig, rich_files[i].path);
        bool applied = false;
        for (size_t n = 0; n < rig->event_count; n++)
            if (rig->events[n].type == EVENT_WRITE_APPLIED)
                applied |= strcmp(turn_check_json(rig, event_json(&rig->events[n], "files"), "[0].path"),
                                  rich_files[i].path) == 0;
        assert_int_equal(strcmp(content, rich_files[i].after) == 0, applied);
        if (!applied && strcmp(content, rich_files[i].before) != 0)
            assert_string_equal(content, "one\ntwo\nthree\n"); /* of the program that changes files meanwhile */
    }
}

static void check_after_cancel(struct rich_turn *rich)
{
    struct turn_rig *rig = &rich->rig;
    bool over = false;
    turn_check_promises(rig, true);
    assert_true(engine_idle(rig->engine));
    assert_null(engine_failed(rig->engine));
    assert_null(engine_question(rig->engine));
    for (size_t i = 0; i < rich->events_before; i++)
        over |= rig->events[i].type == EVENT_WRITES_CLOSED;
    assert_string_equal(turn_check_finished(rig)->status, rich->struck && !over ? "cancelled" : "done");
    for (size_t i = rich->events_before; rich->struck && i < rig->event_count; i++) {
        assert_int_not_equal(rig->events[i].type, EVENT_MODEL_REQUESTED);
        assert_int_not_equal(rig->events[i].type, EVENT_TOOL_STARTED);
        assert_int_not_equal(rig->events[i].type, EVENT_WRITE_PROPOSED);
        assert_int_not_equal(rig->events[i].type, EVENT_HELD);
    }
    check_files(rich);
    turn_check_checkpoints(rig);
}

/* Runs the turn undisturbed; sets the number of events and the duration. */
static size_t measure(bool stepping, int64_t *takes_us)
{
    struct rich_turn rich;
    rich_turn_init(&rich);
    rich.stepping = stepping;
    rich_turn_run(&rich);
    check_after_cancel(&rich);
    assert_int_equal(turn_rig_count(&rich.rig, EVENT_WRITE_APPLIED), 3);
    assert_int_equal(turn_rig_count(&rich.rig, EVENT_WRITE_PROPOSED), 4); /* once again for the changed file */
    assert_int_equal(turn_rig_count(&rich.rig, EVENT_TOOL_FINISHED), 9);
    assert_int_equal(turn_rig_count(&rich.rig, EVENT_REFLECTION), 1);
    assert_int_equal(turn_rig_count(&rich.rig, EVENT_MODEL_FAILED), 1);
    assert_string_equal(turn_check_outcome(&rich.rig, "d"), "artifact");
    size_t events = rich.rig.event_count;
    *takes_us = rich.rig.clock.now_us;
    rich_turn_release(&rich);
    return events;
}

static void sweep_events(bool stepping)
{
    /* Cancels right after an event, and some rounds later, when pool work of that event is under way. */
    static const int rounds[] = {0, 1, 2, 5};
    int64_t takes_us;
    size_t events = measure(stepping, &takes_us);
    for (size_t n = 1; n <= events; n++)
        for (size_t r = 0; r < COUNT_OF(rounds); r++) {
            struct rich_turn rich;
            rich_turn_init(&rich);
            rich.stepping = stepping;
            rich.at_event = n;
            rich.rounds = rounds[r];
            rich.strike = cancel;
            rich_turn_run(&rich);
            check_after_cancel(&rich);
            rich_turn_release(&rich);
        }
}

TEST(cancel_after_every_event)
{
    sweep_events(false);
}

TEST(cancel_after_every_event_of_a_turn_that_steps)
{
    sweep_events(true);
}

TEST(cancel_at_any_time)
{
    int64_t takes_us;
    measure(false, &takes_us);
    assert_true(takes_us > 3000000);
    for (int64_t at = 0; at <= takes_us; at += 49999) {
        struct rich_turn rich;
        rich_turn_init(&rich);
        rich.at_us = at;
        rich.strike = cancel;
        rich_turn_run(&rich);
        check_after_cancel(&rich);
        rich_turn_release(&rich);
    }
}

TEST(session_continues_after_a_canceled_turn)
{
    for (size_t n = 3; n <= 60; n += 3) {
        struct rich_turn rich;
        rich_turn_init(&rich);
        rich.at_event = n;
        rich.strike = cancel;
        rich_turn_run(&rich);
        fake_provider_answer(rich.rig.model)->text = "still here";
        rich.rig.model->answers.next = rich.rig.model->answers.count - 1;
        turn_rig_turn(&rich.rig, "and now?");
        assert_string_equal(turn_check_finished(&rich.rig)->status, "done");
        assert_string_equal(turn_check_finished(&rich.rig)->text, "still here");
        turn_check_promises(&rich.rig, true);
        assert_true(engine_idle(rich.rig.engine));
        rich_turn_release(&rich);
    }
}

TEST(canceling_twice_or_without_a_turn_does_nothing_more)
{
    struct turn_rig rig;
    turn_rig_init(&rig);
    turn_rig_open(&rig);
    assert_string_equal(turn_check_submit(&rig, &(struct intent){.type = INTENT_CANCEL}), "no turn is running");
    fake_provider_answer(rig.model)->takes_us = -1;
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&rig, 1000000);
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&rig);
    assert_int_equal(turn_rig_count(&rig, EVENT_TURN_FINISHED), 1);
    turn_check_end(&rig);
}

void test_begin(void)
{
    rich_turn_in_memory();
}
