/* Tests run_script in a turn: a call waits for a sandbox, events of the script are recorded as they arrive, and the
 * sandbox always goes back to the pool. */

#include "support/event_json.h"
#include "support/fake_pool.h"
#include "support/script_rig.h"
#include "support/test.h"

/* How a script can end. */

static void crashes(struct fake_channel *config)
{
    fake_channel_event(config, 10,
                       "\"type\":\"error\",\"message\":\"ZeroDivisionError: division by zero\","
                       "\"traceback\":\"File \\\"<script>\\\", line 3\\n  1/0\\n\"");
    fake_channel_event(config, 10, "\"type\":\"script_done\"");
}

static void steps(struct fake_channel *config)
{
    fake_channel_event(config, 10, "\"type\":\"script_done\"");
}

static void dies(struct fake_channel *config)
{
    fake_channel_end(config, loop_now_us(config->loop) / 1000 + 10);
}

/* ---- outcomes ---- */

SCRIPT_TEST(a_script_that_works)
{
    struct script_rig *f = *state;
    f->answers = works;
    f->pool.secrets = (const char *const[]){"B", "C", "A", NULL};
    run(f, "{\"script\":\"emit_result({'answer': 42})\",\"secrets\":[\"A\",\"B\"]}");
    assert_string_equal(outcome(f), "result");
    const char *result = event_json(turn_rig_finished(&f->rig, "c1"), "result");
    assert_non_null(strstr(result, "\"final_data\":{\"answer\":42}"));
    assert_non_null(strstr(result, "\"intermediates\":[{\"label\":\"half\",\"data\":{\"n\":50}}]"));
    assert_non_null(strstr(result, "\"message\":\"hello\""));
    assert_string_equal(f->mode, "PLAN");
    assert_string_equal(f->secrets, "[\"A\",\"B\"]");
    assert_int_equal(f->pool.broken, 0);
    assert_int_equal(turn_rig_count(&f->rig, EVENT_WRITE_PROPOSED), 0);
    assert_int_equal(turn_rig_count(&f->rig, EVENT_LATE_SUPPRESSED), 0);
}

SCRIPT_TEST(events_are_in_the_journal_as_they_come)
{
    struct script_rig *f = *state;
    f->answers = works;
    run(f, "{\"script\":\"x\"}");
    assert_int_equal(turn_rig_count(&f->rig, EVENT_SCRIPT_EVENT), 3);
    static const char *const types[] = {"log", "intermediate", "final_result"};
    int64_t started = turn_rig_event(&f->rig, EVENT_TOOL_STARTED, 0)->t;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        const struct event *event = turn_rig_event(&f->rig, EVENT_SCRIPT_EVENT, i);
        assert_string_equal(event->script_event.call, "c1");
        assert_string_equal(turn_check_json(&f->rig, event->script_event.event, "type"), types[i]);
        assert_int_equal(event->t - started, (int64_t)(i + 1) * 10000);
        assert_true(event->seq < turn_rig_finished(&f->rig, "c1")->seq);
    }
    const struct session *session = engine_session(f->rig.engine);
    assert_int_equal(session->calls[0].outputs, 3);
    assert_int_equal(turn_rig_count(&f->rig, EVENT_TOOL_OUTPUT), 0); /* it did not wait */
}

SCRIPT_TEST(a_script_that_crashes)
{
    struct script_rig *f = *state;
    f->answers = crashes;
    run(f, "{\"script\":\"1/0\"}");
    assert_string_equal(error(f), "ZeroDivisionError: division by zero\nFile \"<script>\", line 3\n  1/0\n");
    assert_int_equal(f->pool.broken, 1); /* a sandbox in which a script failed is not used again */
}

SCRIPT_TEST(a_long_traceback_keeps_its_end)
{
    struct script_rig *f = *state;
    f->answers = NULL;
    call(f, "{\"script\":\"1/0\"}");
    turn_rig_submit(&f->rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&f->rig, 1000);
    CLEANUP(strbuf) struct strbuf event = STRBUF_INIT;
    strbuf_addstr(&event, "\"type\":\"error\",\"message\":\"m\",\"traceback\":\"");
    for (int i = 0; i < 1000; i++)
        strbuf_addf(&event, "frame %d\\n", i);
    strbuf_addstr(&event, "the end\"");
    fake_channel_event(&f->pool.config, 1, event.buf);
    turn_rig_run(&f->rig);
    const char *text = error(f);
    assert_memory_equal(text, "m\nframe ", 8);
    assert_non_null(strstr(text, "frame 999\nthe end"));
    assert_true(strlen(text) <= 2010);
}

SCRIPT_TEST(a_step_without_a_result)
{
    struct script_rig *f = *state;
    f->answers = steps;
    run(f, "{\"script\":\"x\",\"mode\":\"interactive\"}");
    assert_string_equal(outcome(f), "result");
    assert_non_null(strstr(event_json(turn_rig_finished(&f->rig, "c1"), "result"), "\"step_done\":true"));
    assert_string_equal(f->mode, "INTERACTIVE");
}

SCRIPT_TEST(a_plan_without_a_result)
{
    struct script_rig *f = *state;
    f->answers = steps;
    run(f, "{\"script\":\"x\",\"mode\":\"plan\"}");
    assert_string_equal(error(f), "Script finished without a result");
}

SCRIPT_TEST(a_box_that_dies_is_not_used_again)
{
    struct script_rig *f = *state;
    f->answers = dies;
    run(f, "{\"script\":\"x\"}");
    assert_string_equal(error(f), "Container stdout closed unexpectedly");
    assert_int_equal(f->pool.broken, 1);
}

SCRIPT_TEST(arguments_are_checked)
{
    static const char *const wrong[] = {"{}",
                                        "{\"script\":1}",
                                        "{\"script\":\"x\",\"mode\":\"PLAN\"}",
                                        "{\"script\":\"x\",\"timeout\":0.5}",
                                        "{\"script\":\"x\",\"timeout\":601}",
                                        "{\"script\":\"x\",\"secrets\":[1]}",
                                        "{\"script\":\"x\",\"files\":\"a\"}",
                                        "{\"script\":\"x\",\"files\":[\"\"]}",
                                        "{\"script\":\"x\",\"other\":1}"};
    struct script_rig *f = *state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CLEANUP(free) char *id = xasprintf("w%zu", i);
        if (!f->rig.engine)
            turn_rig_open(&f->rig);
        fake_answer_call(fake_provider_answer(f->rig.model), id, "run_script", wrong[i]);
        turn_rig_turn(&f->rig, "run it");
        assert_string_equal(turn_check_outcome(&f->rig, id), "denied:validation");
    }
    assert_int_equal(f->pool.taken, 0);
}

/* A model gets only declared secrets, whatever the harness's environment contains. */
SCRIPT_TEST(undeclared_secrets_are_refused)
{
    struct script_rig *f = *state;
    f->answers = works;
    run(f, "{\"script\":\"x\",\"secrets\":[\"HOME\"]}");
    assert_string_equal(error(f), "the secret HOME is not declared for this session (declared: none)");
    f->pool.secrets = (const char *const[]){"A", "AB", NULL};
    fake_answer_call(fake_provider_answer(f->rig.model), "c2", "run_script",
                     "{\"script\":\"x\",\"secrets\":[\"AB\",\"a\"]}");
    turn_rig_turn(&f->rig, "again");
    assert_string_equal(turn_check_json(&f->rig, event_json(turn_rig_finished(&f->rig, "c2"), "failure"), "error"),
                        "the secret a is not declared for this session (declared: A, AB)");
    assert_int_equal(f->pool.taken, 0);
    assert_int_equal(f->pool.forgotten, 0);
}

/* ---- without a sandbox ---- */

SCRIPT_TEST(without_a_pool_scripts_fail)
{
    struct script_rig *f = *state;
    f->rig.config.pool = NULL;
    run(f, "{\"script\":\"x\"}");
    assert_string_equal(error(f), "no sandbox; run keyturn engines");
}

SCRIPT_TEST(no_box_can_be_made)
{
    struct script_rig *f = *state;
    f->pool.trouble = "bwrap is not installed";
    run(f, "{\"script\":\"x\"}");
    assert_string_equal(error(f), "no sandbox: bwrap is not installed");
}

SCRIPT_TEST(waiting_for_a_sandbox_is_reported_and_charged)
{
    struct script_rig *f = *state;
    f->answers = works;
    f->pool.ready_after_ms = 2000;
    run(f, "{\"script\":\"x\",\"timeout\":10}");
    assert_string_equal(outcome(f), "result");
    assert_int_equal(turn_rig_count(&f->rig, EVENT_TOOL_OUTPUT), 1);
    const struct event *waiting = turn_rig_event(&f->rig, EVENT_TOOL_OUTPUT, 0);
    assert_string_equal(waiting->tool_output.stream, "progress");
    assert_string_equal(waiting->tool_output.text, "waiting for a sandbox");
    assert_true(f->timeout_s == 8);
    assert_true(f->named_timeout_s == 10); /* a timeout message has the requested time */
}

SCRIPT_TEST(waiting_too_long_is_a_timeout)
{
    struct script_rig *f = *state;
    f->pool.ready_after_ms = 20000;
    run(f, "{\"script\":\"x\",\"timeout\":10}");
    assert_string_equal(error(f), "no sandbox was free within 10 s");
    assert_int_equal(turn_rig_finished(&f->rig, "c1")->tool_finished.elapsed_ms, 10000);
    assert_int_equal(f->pool.forgotten, 1);
}

SCRIPT_TEST(a_box_that_comes_at_the_last_moment)
{
    struct script_rig *f = *state;
    f->pool.ready_after_ms = 9600;
    run(f, "{\"script\":\"x\",\"timeout\":10}");
    assert_string_equal(error(f), "no time left after waiting for a sandbox");
    assert_int_equal(f->pool.given, 1);
}

/* The smallest timeout of the schema works: the time to get a sandbox does not count. */
SCRIPT_TEST(the_shortest_time_is_enough)
{
    struct script_rig *f = *state;
    f->answers = works;
    f->pool.ready_after_ms = 1;
    run(f, "{\"script\":\"x\",\"timeout\":1}");
    assert_string_equal(outcome(f), "result");
    assert_true(f->timeout_s == 1);
}

/* ---- time, and the user ---- */

SCRIPT_TEST(a_silent_script_times_out)
{
    struct script_rig *f = *state;
    run(f, "{\"script\":\"x\",\"timeout\":10}");
    assert_string_equal(error(f), "Timed out waiting for container response");
    assert_int_equal(turn_rig_finished(&f->rig, "c1")->tool_finished.elapsed_ms, 15000);
    assert_int_equal(f->pool.broken, 1);
    assert_int_equal(f->pool.closed, 1);
}

SCRIPT_TEST(the_turns_deadline_wins)
{
    struct script_rig *f = *state;
    f->rig.config.limits.wall_s = 20;
    run(f, "{\"script\":\"x\",\"timeout\":300}");
    assert_true(f->timeout_s > 18 && f->timeout_s < 19.1);
    assert_true(f->named_timeout_s == 19);
    assert_string_equal(outcome(f), "timeout");
    assert_int_equal(turn_rig_count(&f->rig, EVENT_LATE_SUPPRESSED), 1);
    assert_int_equal(f->pool.broken, 1);
    assert_int_equal(f->pool.closed, 1);
}

SCRIPT_TEST(the_turns_deadline_ends_the_wait_for_a_box)
{
    struct script_rig *f = *state;
    f->rig.config.limits.wall_s = 20;
    f->pool.ready_after_ms = 60000;
    run(f, "{\"script\":\"x\",\"timeout\":300}");
    assert_string_equal(outcome(f), "timeout");
    assert_int_equal(f->pool.forgotten, 1);
}

SCRIPT_TEST(scripts_have_a_default_timeout)
{
    struct script_rig *f = *state;
    f->answers = works;
    f->rig.config.limits.wall_s = 600;
    run(f, "{\"script\":\"x\"}");
    assert_true(f->timeout_s == 60);
}

static void cancel_after(struct script_rig *f, int64_t us)
{
    call(f, "{\"script\":\"x\"}");
    turn_rig_submit(&f->rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&f->rig, us);
    turn_rig_submit(&f->rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&f->rig);
    assert_non_null(strstr(error(f), "canceled by the user"));
    assert_true(engine_idle(f->rig.engine));
}

SCRIPT_TEST(cancel_while_it_runs)
{
    struct script_rig *f = *state;
    cancel_after(f, 1000000);
    assert_int_equal(f->pool.broken, 1);
    assert_int_equal(f->pool.closed, 1);
}

SCRIPT_TEST(cancel_while_it_waits)
{
    struct script_rig *f = *state;
    f->pool.ready_after_ms = 60000;
    cancel_after(f, 1000000);
    assert_int_equal(f->pool.forgotten, 1);
    assert_int_equal(f->pool.taken, 0);
}

SCRIPT_TEST(nothing_of_a_canceled_script_is_recorded)
{
    struct script_rig *f = *state;
    f->answers = works;
    cancel_after(f, 15000);
    assert_int_equal(turn_rig_count(&f->rig, EVENT_SCRIPT_EVENT), 1);
}

/* ---- replay ---- */

static void works_slowly(struct fake_channel *config)
{
    fake_channel_event(config, 700, "\"type\":\"final_result\",\"data\":{\"answer\":42}");
}

static void works_quickly(struct fake_channel *config)
{
    fake_channel_event(config, 10, "\"type\":\"final_result\",\"data\":{\"answer\":42}");
}

static void finds_another(struct fake_channel *config)
{
    fake_channel_event(config, 10, "\"type\":\"final_result\",\"data\":{\"answer\":43}");
}

/* Recorded with works_slowly, then run again. */
static void run_again(struct script_rig *f, void (*answers)(struct fake_channel *config), const char *departs_at)
{
    struct made made;
    struct again again;
    struct fake_pool first, second;
    made_init(&made);
    lend(f, &first, &made.rig);
    turn_check_open(&made.rig, made.path);
    fake_answer_call(replay_answer(&made.rig), "c1", "run_script", "{\"script\":\"x\"}");
    replay_answer(&made.rig)->text = "over";
    f->answers = works_slowly;
    turn_rig_turn(&made.rig, "go");
    again_init(&again, made.path);
    lend(f, &second, &again.rig);
    f->answers = answers;
    again_run(&again);
    assert_int_equal(second.taken, 1);
    if (departs_at)
        assert_string_equal(divergences_at(again.divergences, 0)->field, departs_at);
    else
        again_check_none(&again);
    fake_pool_release(&second);
    again_release(&again);
    fake_pool_release(&first);
    made_release(&made);
}

SCRIPT_TEST(replay_ignores_script_name_and_time)
{
    struct script_rig *f = *state;
    run_again(f, works_quickly, NULL);
}

SCRIPT_TEST(replay_compares_the_result)
{
    struct script_rig *f = *state;
    run_again(f, finds_another, "result.output.final_data.answer");
}
