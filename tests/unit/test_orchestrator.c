/* Tests of the orchestrator, with a fake author that has its scripts ready and a harness that does what a script's
 * words say. */

#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "event/emitter.h"
#include "sandbox/orchestrator.h"
#include "support/fake_pool.h"
#include "support/test.h"

struct fixture {
    struct fake_clock clock;
    struct loop *loop;
    struct fake_pool pool;
    struct orchestrator_options options;
    struct orchestration *run;
    const char *const *scripts; /* NULL-terminated: then there is nothing more to do */
    const char *word;           /* the author's, then */
    bool unable;                /* it is, then */
    int64_t writes_for_ms;      /* the author */
    int64_t cancel_at_ms;       /* -1: never */
    bool cancels_at_event;
    struct loop_timer writing, cancelling;
    size_t asked;
    struct strbuf errors; /* as the author saw them, each with | */
    struct emitter emitter;
    size_t attempt;       /* that runs */
    struct strbuf events; /* attempt number and type */
    struct run_record record;
    int dones;
    int64_t done_ms;
};

static struct fixture *the;

/* "result DATA", "fail TEXT", "step DATA" (an intermediate and the end), "nothing", "die", "hang". */
static void answer(struct fake_channel *config, const struct json *request)
{
    const char *script = json_str(json_get(request, "script"), "");
    const char *rest = strchr(script, ' ') ? strchr(script, ' ') + 1 : "";
    CLEANUP(strbuf) struct strbuf event = STRBUF_INIT;
    assert_string_equal(json_str(json_get(request, "mode"), ""), script_mode_name(the->options.mode));
    if (strncmp(script, "result", 6) == 0)
        strbuf_addf(&event, "\"type\":\"final_result\",\"data\":%s", rest);
    else if (strncmp(script, "fail", 4) == 0)
        strbuf_addf(&event, "\"type\":\"error\",\"message\":\"%s\",\"traceback\":\"t\"", rest);
    else if (strncmp(script, "step", 4) == 0)
        strbuf_addf(&event, "\"type\":\"intermediate\",\"label\":\"l\",\"data\":%s", rest);
    if (event.len)
        fake_channel_event(config, 1, event.buf);
    if (strcmp(script, "die") == 0)
        fake_channel_end(config, 1);
    else if (strcmp(script, "hang") != 0)
        fake_channel_event(config, 1, "\"type\":\"script_done\"");
}

static void hand_in(struct fixture *f)
{
    struct authored authored = {.script = *f->scripts ? *f->scripts++ : NULL,
                                .word = f->word,
                                .unable = f->unable,
                                .authoring = {.tokens_in = 10, .tokens_out = -1, .latency_ms = f->writes_for_ms}};
    orchestrator_script(f->run, &authored);
}

static void written(struct loop_timer *timer)
{
    hand_in(CONTAINER_OF(timer, struct fixture, writing));
}

static void on_begins(void *user, const struct run_record *record)
{
    struct fixture *f = user;
    f->attempt = record->count - 1;
    strbuf_addf(&f->events, "%zu begins|", f->attempt);
}

static void on_next(void *user, struct orchestration *run, const struct run_record *record)
{
    struct fixture *f = user;
    assert_ptr_equal(run, f->run);
    assert_int_equal(record->count, f->asked);
    f->asked++;
    if (record->count) {
        const char *error = record->attempts[record->count - 1].result.error;
        strbuf_addf(&f->errors, "%s|", error ? error : "");
    }
    if (f->writes_for_ms)
        loop_timer_start(f->loop, &f->writing, loop_now_us(f->loop) + f->writes_for_ms * 1000, written);
    else
        hand_in(f);
}

static int on_events(struct emitter *emitter, struct event *events, size_t count)
{
    struct fixture *f = CONTAINER_OF(emitter, struct fixture, emitter);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&f->events, "%zu %s|", f->attempt,
                    json_str(json_get(event_leaf(&arena, events[i].script_event.event), "type"), "?"));
    if (f->cancels_at_event)
        orchestrator_cancel(f->run);
    return 0;
}

static void on_done(void *user, struct run_record *take_record)
{
    struct fixture *f = user;
    f->dones++;
    f->done_ms = loop_now_us(f->loop) / 1000;
    f->record = *take_record;
    *take_record = (struct run_record){0};
    loop_timer_stop(f->loop, &f->writing);
    loop_timer_stop(f->loop, &f->cancelling);
}

static void cancel_now(struct loop_timer *timer)
{
    struct fixture *f = CONTAINER_OF(timer, struct fixture, cancelling);
    orchestrator_cancel(f->run);
    orchestrator_cancel(f->run);
    assert_int_equal(f->dones, 0); /* never from within */
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    fake_clock_init(&f->clock);
    f->loop = loop_new(&f->clock.base);
    fake_pool_init(&f->pool, f->loop);
    f->pool.config.asked = answer;
    f->emitter = (struct emitter){.emit = on_events};
    f->options = (struct orchestrator_options){
        .loop = f->loop, .pool = fake_pool(&f->pool), .timeout_s = 10, .emitter = &f->emitter};
    f->cancel_at_ms = -1;
    strbuf_init(&f->errors);
    strbuf_init(&f->events);
    *state = the = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    run_record_release(&f->record);
    strbuf_release(&f->errors);
    strbuf_release(&f->events);
    fake_pool_release(&f->pool);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void run(struct fixture *f, enum script_mode mode, const char *const *scripts)
{
    f->options.mode = mode;
    f->scripts = scripts;
    f->run = orchestrator_start(&f->options, &(struct orchestrator_author){on_next, on_begins, on_done, f});
    if (f->cancel_at_ms >= 0)
        loop_timer_start(f->loop, &f->cancelling, f->cancel_at_ms * 1000, cancel_now);
    assert_int_equal(f->asked, 0);
    loop_run(f->loop);
    assert_int_equal(f->dones, 1);
    assert_int_equal(f->pool.taken, f->pool.given);
}

#define SCRIPTS(...)      \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void expect(const struct fixture *f, bool success, size_t attempts, const char *why)
{
    assert_string_equal(f->record.why, why);
    assert_int_equal(f->record.success, success);
    assert_int_equal(f->record.count, attempts);
}

/* ---- PLAN ---- */

TEST_WITH(plan_that_works, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_PLAN, SCRIPTS("result {\"a\":1}", "result 2"));
    expect(f, true, 1, "attempt 1 returned a result");
    assert_string_equal(f->record.attempts[0].script, "result {\"a\":1}");
    assert_string_equal(f->record.attempts[0].result.final_data, "{\"a\":1}");
    assert_string_equal(f->events.buf, "0 begins|0 final_result|");
    assert_int_equal(f->pool.broken, 0);
}

TEST_WITH(plan_is_fed_with_the_error, set_up, tear_down)
{
    struct fixture *f = *state;
    f->writes_for_ms = 500;
    run(f, SCRIPT_PLAN, SCRIPTS("fail one", "nothing", "result 3"));
    expect(f, true, 3, "attempt 3 returned a result");
    assert_string_equal(f->errors.buf, "one|Script finished without a result|");
    assert_string_equal(f->record.attempts[0].result.error, "one");
    assert_string_equal(f->record.attempts[0].result.traceback, "t");
    assert_string_equal(f->events.buf, "0 begins|0 error|1 begins|1 script_done|2 begins|2 final_result|");
    assert_int_equal(f->pool.taken, 3); /* each has a clean one */
}

TEST_WITH(plan_gives_up, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_PLAN, SCRIPTS("fail one", "fail two", "die", "result 4"));
    expect(f, false, 3, "3 attempts failed, the last with: Container stdout closed unexpectedly");
    assert_int_equal(f->pool.broken, 3); /* a box in which a script failed is not used again */
}

TEST_WITH(plan_of_one_attempt, set_up, tear_down)
{
    struct fixture *f = *state;
    f->options.attempts = 1;
    run(f, SCRIPT_PLAN, SCRIPTS("hang", "result 4"));
    expect(f, false, 1, "the script failed: Timed out waiting for container response");
    assert_int_equal(f->done_ms, 15000);
    assert_int_equal(f->pool.closed, 1);
}

TEST_WITH(plan_whose_author_gives_up, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_PLAN, SCRIPTS("fail one"));
    expect(f, false, 1, "the model wrote no other script (last error: one)");
}

TEST_WITH(plan_whose_author_gives_a_reason, set_up, tear_down)
{
    struct fixture *f = *state;
    f->word = "I cannot.\nSorry.";
    run(f, SCRIPT_PLAN, SCRIPTS("fail one"));
    expect(f, false, 1, "the model wrote no other script: I cannot. (last error: one)");
    assert_string_equal(f->record.closing, f->word);
}

TEST_WITH(a_failing_author_ends_the_run, set_up, tear_down)
{
    struct fixture *f = *state;
    f->word = "the model does not answer";
    f->unable = true;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("step 1"));
    expect(f, false, 1, "the model does not answer");
    assert_null(f->record.closing);
}

TEST_WITH(a_missing_script_ends_the_run, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_PLAN, (const char *const[]){NULL});
    expect(f, false, 0, "the model wrote no script");
    assert_int_equal(f->pool.taken, 0);
}

TEST_WITH(no_script_but_a_long_word, set_up, tear_down)
{
    struct fixture *f = *state;
    CLEANUP(strbuf) struct strbuf word = STRBUF_INIT, why = STRBUF_INIT;
    strbuf_addstr(&why, "the model wrote no script: ");
    for (int i = 0; i < 300; i++) {
        strbuf_addstr(&word, "é");
        strbuf_addstr(&why, i < 200 ? "é" : "");
    }
    strbuf_addstr(&why, "…");
    f->word = word.buf;
    run(f, SCRIPT_PLAN, (const char *const[]){NULL});
    expect(f, false, 0, why.buf);
}

TEST_WITH(without_a_sandbox_the_run_fails, set_up, tear_down)
{
    struct fixture *f = *state;
    f->pool.trouble = "bwrap is not installed";
    run(f, SCRIPT_PLAN, SCRIPTS("result 1", "result 2"));
    expect(f, false, 1, "no sandbox: bwrap is not installed");
    assert_string_equal(f->record.attempts[0].result.error, f->record.why);
}

/* ---- INTERACTIVE ---- */

TEST_WITH(steps_until_a_result, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("step 1", "step 2", "fail three", "result 4"));
    expect(f, true, 4, "step 4 returned a result");
    assert_string_equal(f->errors.buf, "||three|");
    assert_true(f->record.attempts[0].result.step_done);
    assert_int_equal(f->pool.taken, 1);  /* one box, for all of them */
    assert_int_equal(f->pool.broken, 1); /* and not used again, because a script failed in it */
}

TEST_WITH(steps_until_the_author_is_done, set_up, tear_down)
{
    struct fixture *f = *state;
    f->word = "That is all.";
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("step 1", "step 2"));
    expect(f, true, 2, "the model finished after 2 steps");
    assert_string_equal(f->record.closing, "That is all.");
    assert_int_equal(f->pool.broken, 0);
}

TEST_WITH(a_failed_step_at_the_end, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("fail one"));
    expect(f, false, 1, "the model finished after 1 step");
}

TEST_WITH(the_same_result_again_stops, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("step 1", "step 2", "step  2", "step 3"));
    expect(f, false, 3, "2 steps in a row returned the same result");
}

TEST_WITH(the_same_error_again_stops, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("fail x", "step 2", "fail x", "fail x", "result 1"));
    expect(f, false, 4, "2 steps in a row returned the same result");
}

TEST_WITH(nothing_repeats_only_with_its_script, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("nothing 1", "nothing 2", "nothing 2", "result 1"));
    expect(f, false, 3, "2 steps in a row returned the same result");
}

TEST_WITH(steps_are_used_up, set_up, tear_down)
{
    struct fixture *f = *state;
    f->options.attempts = 3;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("step 1", "step 2", "step 3", "result 4"));
    expect(f, false, 3, "no result after 3 steps");
}

TEST_WITH(a_broken_box_is_replaced, set_up, tear_down)
{
    struct fixture *f = *state;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("step 1", "die", "result 3"));
    expect(f, true, 3, "step 3 returned a result"); /* in a new box, in which nothing failed */
    assert_int_equal(f->pool.taken, 2);
    assert_int_equal(f->pool.broken, 1);
}

/* ---- canceling ---- */

TEST_WITH(cancel_at_every_moment, set_up, tear_down)
{
    struct fixture *f = *state;
    /* The author writes for 10 ms, the sandbox takes 10 ms, the script 1 ms or endless, twice. */
    for (int64_t at = 0; at < 60; at++) {
        bool hangs = at >= 40;
        tear_down(state);
        set_up(state);
        f = *state;
        f->writes_for_ms = f->pool.ready_after_ms = 10;
        f->cancel_at_ms = at;
        run(f, SCRIPT_PLAN, SCRIPTS("fail one", hangs ? "hang" : "fail two", "fail three"));
        assert_string_equal(f->record.why, "canceled");
        assert_false(f->record.success);
        assert_int_equal(f->done_ms, at);
    }
    assert_int_equal(f->record.count, 2);
    assert_string_equal(f->record.attempts[1].result.error, "canceled");
    assert_int_equal(f->pool.closed, 1);
}

TEST_WITH(cancel_between_steps, set_up, tear_down)
{
    struct fixture *f = *state;
    f->writes_for_ms = 10;
    f->cancel_at_ms = 15;
    run(f, SCRIPT_INTERACTIVE, SCRIPTS("step 1", "step 2"));
    expect(f, false, 1, "canceled");
    assert_int_equal(f->pool.broken, 0);
}

TEST_WITH(cancel_at_an_event, set_up, tear_down)
{
    struct fixture *f = *state;
    f->cancels_at_event = true;
    run(f, SCRIPT_PLAN, SCRIPTS("result 1"));
    expect(f, false, 1, "canceled");
}

TEST_WITH(record_as_json, set_up, tear_down)
{
    struct fixture *f = *state;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    run(f, SCRIPT_PLAN, SCRIPTS("fail \\\"one\\\"", "result [1]"));
    run_record_write(&text, &f->record);
    const struct json *record = json_parse(&arena, text.buf, text.len, NULL);
    assert_non_null(record);
    assert_true(json_bool(json_get(record, "success"), false));
    const struct json *attempts = json_get(record, "attempts");
    assert_int_equal(attempts->count, 2);
    assert_string_equal(json_str(json_get(json_get(json_at(attempts, 0), "result"), "error"), ""), "\"one\"");
    assert_string_equal(json_str(json_get(json_at(attempts, 1), "script"), ""), "result [1]");
    assert_string_equal(json_str(json_get(record, "type"), ""), "run_record");
    assert_int_equal(json_int(json_get(json_at(attempts, 0), "tokens_in"), 0), 10);
    assert_int_equal(json_get(json_at(attempts, 0), "tokens_out")->type, JSON_NULL);
    assert_int_equal(json_int(json_get(json_at(attempts, 0), "latency_ms"), -1), 0);
}
