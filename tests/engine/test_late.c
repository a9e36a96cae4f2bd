/* Tests time, in sweeps and on real threads: a deadline at every microsecond, a late thread at every moment of the next
 * turn, and pool threads that outlive their turn. tests/cases/late.case has the late results that need no sweep. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/test.h"
#include "support/turn_check.h"

#define SECONDS(s) ((int64_t)((s)*1e6))

static struct fake_answer *answer(struct turn_rig *rig)
{
    return fake_provider_answer(rig->model);
}

/* A tool with a limit of ten seconds that takes `takes_s`. */
static void init_slow(struct turn_rig *rig, struct fake_tool *slow, double takes_s)
{
    turn_rig_init(rig);
    fake_tool_init(slow, "slow", EFFECT_READ_ONLY);
    slow->tool.spec.timeout_s = 10;
    slow->takes_ms = (int64_t)(takes_s * 1000);
    turn_rig_add_tool(rig, &slow->tool);
}

static void end_slow(struct turn_rig *rig, struct fake_tool *slow)
{
    turn_check_end(rig);
    assert_int_equal(slow->finished, slow->executions);
    fake_tool_release(slow);
}

/* ---- deadlines ---- */

TEST(deadline_is_met_to_the_microsecond)
{
    for (int i = 0; i < 100; i++) {
        struct turn_rig rig;
        turn_rig_init(&rig);
        rig.config.interactive = true;
        rig.config.limits.wall_s = 16 + i * 1e-6;
        turn_rig_open(&rig);
        answer(&rig)->takes_us = -1;
        turn_rig_turn(&rig, "go");
        struct held_view held;
        assert_true(engine_held(rig.engine, &held));
        assert_string_equal(held.why, "limit: wall_ms");
        turn_check_do(&rig, INTENT_CONTINUE);
        assert_string_equal(turn_check_finished(&rig)->status, "budget");
        turn_check_end(&rig);
    }
}

/* ---- a thread of one turn and the next turn ---- */

/* The lines of the second turn, without numbers and times. */
static char *second_turn(const struct turn_rig *rig)
{
    struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < rig->event_count; i++) {
        const struct event *event = &rig->events[i];
        if (event->turn != 2)
            continue;
        const char *type = memmem(event->raw, event->raw_len, "\"turn\":", 7);
        strbuf_add(&text, type, event->raw_len - (size_t)(type - event->raw));
        strbuf_addch(&text, '\n');
    }
    return strbuf_detach(&text, NULL);
}

/* Runs a turn that leaves a thread behind, which returns `takes_s` after it began, and then a second turn of ten
 * seconds that uses the same tool and the same ids. */
static char *run_two_turns(double takes_s, size_t *lates)
{
    struct turn_rig rig;
    struct fake_tool slow, quick;
    init_slow(&rig, &slow, takes_s);
    slow.cites = "https://example.org";
    fake_tool_init(&quick, "quick", EFFECT_READ_ONLY);
    quick.takes_ms = 5000;
    turn_rig_add_tool(&rig, &quick.tool);
    turn_rig_open(&rig);
    fake_answer_call(answer(&rig), "s", "slow", "{}");
    answer(&rig)->text = "one";
    turn_rig_submit(&rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "one"}});
    turn_rig_run_for(&rig, SECONDS(10));
    turn_rig_run_for(&rig, SECONDS(1));
    assert_string_equal(turn_check_finished(&rig)->text, "one");
    slow.takes_ms = 1000;
    struct fake_answer *a = answer(&rig);
    a->takes_us = SECONDS(4);
    fake_answer_call(a, "s", "slow", "{}");
    fake_answer_call(a, "q", "quick", "{}");
    answer(&rig)->text = "two";
    turn_rig_turn(&rig, "two");
    *lates = turn_rig_count(&rig, EVENT_LATE_SUPPRESSED);
    for (size_t i = 0; i < *lates; i++)
        assert_int_equal(turn_rig_event(&rig, EVENT_LATE_SUPPRESSED, i)->turn, 1);
    char *lines = second_turn(&rig);
    end_slow(&rig, &slow);
    fake_tool_release(&quick);
    return lines;
}

TEST(late_thread_of_one_turn_touches_nothing_of_the_next)
{
    size_t lates;
    CLEANUP(free) char *undisturbed = run_two_turns(10.5, &lates); /* back before the second turn begins */
    assert_int_equal(lates, 1);
    for (double takes_s = 11; takes_s < 24; takes_s += 0.5) {
        CLEANUP(free) char *disturbed = run_two_turns(takes_s, &lates);
        assert_int_equal(lates, 1);
        assert_string_equal(disturbed, undisturbed);
    }
}

/* ---- on the pool ---- */

/* Virtual time does not advance while a thread is out, so the test advances it when the thread is back. */
struct pool_turn {
    struct turn_rig rig;
    struct fake_tool tool;
    struct sink sink;
    struct loop_task push;
    int rounds;
};

static void push_on(struct loop_task *task)
{
    struct pool_turn *turn = (struct pool_turn *)((char *)task - offsetof(struct pool_turn, push));
    if (turn->rounds-- > 0 || atomic_load(&turn->tool.executions) == 0)
        loop_post(turn->rig.loop, task, push_on);
    else
        fake_clock_advance(&turn->rig.clock, SECONDS(10));
}

static void hear(struct sink *sink, const struct event *event, const struct session *session)
{
    struct pool_turn *turn = (struct pool_turn *)((char *)sink - offsetof(struct pool_turn, sink));
    (void)session;
    if (event->type == EVENT_TOOL_STARTED && strcmp(event->tool_started.tool, "pool") == 0 && turn->tool.hangs) {
        turn->rounds = 3;
        loop_post(turn->rig.loop, &turn->push, push_on);
    }
}

static void stop_loop(void *data)
{
    loop_stop(data);
}

/* Runs a turn whose tool hangs on its thread past its ten seconds. Sets when the turn ended. */
static void run_hanging(struct pool_turn *turn)
{
    *turn = (struct pool_turn){.sink = {.event = hear}};
    turn_rig_init(&turn->rig);
    fake_tool_init(&turn->tool, "pool", EFFECT_LOCAL_WRITE);
    fake_tool_on_pool(&turn->tool);
    turn->tool.tool.spec.timeout_s = 10;
    turn->tool.hangs = true;
    turn->tool.asks = FAKE_PROPOSES;
    turn->tool.path = "a.txt";
    turn->tool.text = "too late";
    turn_rig_add_tool(&turn->rig, &turn->tool.tool);
    turn->rig.sink.next = &turn->sink;
    turn->rig.answer = turn_rig_say_yes;
    turn_rig_open(&turn->rig);
    engine_on_turn_end(turn->rig.engine, stop_loop, turn->rig.loop);
    fake_answer_call(answer(&turn->rig), "p", "pool", "{}");
    answer(&turn->rig)->text = "one";
    turn_rig_turn(&turn->rig, "go");
    assert_string_equal(turn_check_outcome(&turn->rig, "p"), "timeout");
    assert_string_equal(turn_check_finished(&turn->rig)->status, "done");
    assert_false(engine_idle(turn->rig.engine));
}

static void end_hanging(struct pool_turn *turn)
{
    CLEANUP(free) char *content = turn_rig_read(&turn->rig, "a.txt");
    assert_null(content);
    assert_int_equal(turn->tool.confirmed, 0);
    assert_int_equal(turn_rig_count(&turn->rig, EVENT_LATE_SUPPRESSED), 1);
    assert_int_equal(turn_rig_count(&turn->rig, EVENT_WRITE_PROPOSED), 0);
    turn_check_end(&turn->rig);
    fake_tool_release(&turn->tool);
}

TEST(thread_that_outlives_its_turn_is_suppressed)
{
    struct pool_turn turn;
    run_hanging(&turn);
    fake_tool_let_go(&turn.tool);
    turn_rig_run(&turn.rig);
    assert_int_equal(turn.rig.events[turn.rig.event_count - 1].type, EVENT_LATE_SUPPRESSED);
    end_hanging(&turn);
}

static void let_go(struct fake_provider *provider, const struct model_request *request, void *data)
{
    struct pool_turn *turn = data;
    (void)provider;
    (void)request;
    fake_tool_let_go(&turn->tool);
}

TEST(thread_that_returns_in_the_next_turn_is_suppressed)
{
    struct pool_turn turn;
    run_hanging(&turn);
    turn.rig.model->asked = let_go;
    turn.rig.model->asked_data = &turn;
    answer(&turn.rig)->takes_us = SECONDS(1); /* time advances only when the thread is back */
    answer(&turn.rig)->text = "two";
    turn_rig_turn(&turn.rig, "next");
    turn_rig_run(&turn.rig);
    assert_int_equal(turn_rig_count(&turn.rig, EVENT_TURN_FINISHED), 2);
    assert_true(turn_check_place(&turn.rig, EVENT_LATE_SUPPRESSED, NULL, 0) <
                turn_check_place(&turn.rig, EVENT_MODEL_RESPONDED, NULL, 2));
    end_hanging(&turn);
}

TEST(thread_that_returns_after_the_session_is_suppressed)
{
    struct pool_turn turn;
    run_hanging(&turn);
    turn_rig_submit(&turn.rig, &(struct intent){.type = INTENT_END});
    fake_tool_let_go(&turn.tool);
    turn_rig_run(&turn.rig);
    assert_int_equal(turn_rig_count(&turn.rig, EVENT_SESSION_ENDED), 1);
    end_hanging(&turn);
}
