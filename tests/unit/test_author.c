/* Tests of the author, with a fake model and a harness that does what a script's words say. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/emitter.h"
#include "sandbox/wire.h"
#include "support/fake_pool.h"
#include "support/fake_provider.h"
#include "support/test.h"
#include "turn/author.h"

struct fixture {
    struct fake_clock clock;
    struct loop *loop;
    struct fake_pool pool;
    struct fake_provider *model;
    struct author_options options;
    struct author *author;
    struct loop_timer cancelling;
    struct emitter emitter;
    struct strbuf told; /* of the run: "begins 1|", "error|", "waits 500|" */
    struct run_record record;
    int asks, dones;
};

/* A line of the script: "emit_result(DATA)", "fail TEXT", "emit_part(DATA)", "print TEXT", "hang"; then it is done. */
static void answer(struct fake_channel *config, const struct json *request)
{
    const char *script = json_str(json_get(request, "script"), "");
    CLEANUP(strbuf) struct strbuf event = STRBUF_INIT;
    int data = (int)strcspn(strchr(script, '(') ? strchr(script, '(') + 1 : "", ")");
    if (strncmp(script, "emit_result", 11) == 0)
        strbuf_addf(&event, "\"type\":\"final_result\",\"data\":%.*s", data, script + 12);
    else if (strncmp(script, "emit_part", 9) == 0)
        strbuf_addf(&event, "\"type\":\"intermediate\",\"label\":\"part\",\"data\":%.*s", data, script + 10);
    else if (strncmp(script, "fail ", 5) == 0)
        strbuf_addf(&event, "\"type\":\"error\",\"message\":\"%.*s\",\"traceback\":\"line 1\\nline 2\"",
                    (int)strcspn(script + 5, "\n"), script + 5);
    else if (strncmp(script, "print ", 6) == 0)
        strbuf_addf(&event, "\"type\":\"log\",\"level\":\"stdout\",\"message\":\"%.*s\"",
                    (int)strcspn(script + 6, "\n"), script + 6);
    if (event.len)
        fake_channel_event(config, 1, event.buf);
    if (strncmp(script, "hang", 4) != 0)
        fake_channel_event(config, 1, "\"type\":\"script_done\"");
}

static void on_asks(void *user)
{
    struct fixture *f = user;
    f->asks++;
    assert_non_null(f->model->listener);
}

static void on_begins(void *user, const struct run_record *record)
{
    struct fixture *f = user;
    strbuf_addf(&f->told, "begins %zu|", record->count);
}

static int on_events(struct emitter *emitter, struct event *events, size_t count)
{
    struct fixture *f = CONTAINER_OF(emitter, struct fixture, emitter);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&f->told, "%s|", json_str(json_get(event_leaf(&arena, events[i].script_event.event), "type"), "?"));
    return 0;
}

static void on_waits(void *user, const char *error, int64_t wait_ms)
{
    struct fixture *f = user;
    strbuf_addf(&f->told, "%s: waits %lld|", error, (long long)wait_ms);
}

static void on_done(void *user, struct run_record *take_record)
{
    struct fixture *f = user;
    f->dones++;
    f->record = *take_record;
    *take_record = (struct run_record){0};
    loop_timer_stop(f->loop, &f->cancelling);
}

static void cancel_now(struct loop_timer *timer)
{
    struct fixture *f = CONTAINER_OF(timer, struct fixture, cancelling);
    author_cancel(f->author);
    assert_int_equal(f->dones, 0); /* never called before the start returns */
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    fake_clock_init(&f->clock);
    f->loop = loop_new(&f->clock.base);
    fake_pool_init(&f->pool, f->loop);
    f->pool.config.asked = answer;
    f->model = fake_provider_new(f->loop);
    strbuf_init(&f->told);
    f->emitter = (struct emitter){.emit = on_events};
    f->options = (struct author_options){
        .run = {.loop = f->loop, .pool = fake_pool(&f->pool), .timeout_s = 10, .emitter = &f->emitter},
        .provider = &f->model->base,
        .wish = "count to three",
        .tools = &f->pool.tools,
        .model_attempts = 3,
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    run_record_release(&f->record);
    strbuf_release(&f->told);
    provider_free(&f->model->base);
    fake_pool_release(&f->pool);
    loop_free(f->loop);
    free(f);
    return 0;
}

static void says(struct fixture *f, const char *text)
{
    struct fake_answer *answer = fake_provider_answer(f->model);
    answer->text = text;
    answer->usage = (struct usage){.input = 100, .output = 7};
    answer->takes_us = 2000000;
}

static void run_until(struct fixture *f, enum script_mode mode, int64_t cancel_ms)
{
    f->options.run.mode = mode;
    f->author = author_start(&f->options, &(struct author_listener){on_asks, on_begins, on_waits, on_done, f});
    if (cancel_ms >= 0)
        loop_timer_start(f->loop, &f->cancelling, cancel_ms * 1000, cancel_now);
    loop_run(f->loop);
    assert_int_equal(f->dones, 1);
    assert_int_equal(f->pool.taken, f->pool.given);
}

static void run(struct fixture *f, enum script_mode mode)
{
    run_until(f, mode, -1);
}

static void expect(const struct fixture *f, bool success, size_t attempts, const char *why)
{
    assert_string_equal(f->record.why, why);
    assert_int_equal(f->record.success, success);
    assert_int_equal(f->record.count, attempts);
}

/* Returns the last message of the request for the answer of this number. */
static const char *last_told(const struct fixture *f, size_t request)
{
    assert_true(request < f->model->request_count);
    const struct message_list *messages = &f->model->requests[request].messages;
    return messages->items[messages->count - 1].text;
}

static const char *rules_told(const struct fixture *f)
{
    const struct message *first = &f->model->requests[0].messages.items[0];
    assert_int_equal(first->role, ROLE_SYSTEM);
    return first->text;
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

/* ---- PLAN ---- */

TEST_WITH(a_script_that_works, set_up, tear_down)
{
    struct fixture *f = *state;
    says(f, "Here:\n```python\nemit_result([1,2,3])\n```\nDone.\n```python\nemit_result(0)\n```\n");
    run(f, SCRIPT_PLAN);
    expect(f, true, 1, "attempt 1 returned a result");
    assert_string_equal(f->record.attempts[0].script, "emit_result([1,2,3])\n");
    assert_string_equal(f->record.attempts[0].result.final_data, "[1,2,3]");
    assert_int_equal(f->record.attempts[0].authoring.tokens_in, 100);
    assert_int_equal(f->record.attempts[0].authoring.tokens_out, 7);
    assert_int_equal(f->record.attempts[0].authoring.latency_ms, 2000);
    assert_string_equal(f->told.buf, "begins 1|final_result|");
    assert_string_equal(last_told(f, 0), "count to three");
    assert_int_equal(f->model->requests[0].tool_count, 0);
    assert_null(strstr(rules_told(f), "tools:"));
    assert_null(strstr(rules_told(f), "os.environ"));
    assert_holds(rules_told(f), "It must call emit_result");
}

TEST_WITH(the_error_goes_back, set_up, tear_down)
{
    struct fixture *f = *state;
    says(f, "```py\nfail no such thing\n```");
    says(f, "```python\nemit_result(3)\n```");
    run(f, SCRIPT_PLAN);
    expect(f, true, 2, "attempt 2 returned a result");
    assert_string_equal(f->told.buf, "begins 1|error|begins 2|final_result|");
    assert_holds(last_told(f, 1), "It failed: no such thing\n");
    assert_holds(last_told(f, 1), "line 1\nline 2");
    /* The conversation: rules, request, answer, result. */
    assert_int_equal(f->model->requests[1].messages.count, 4);
    assert_int_equal(f->model->requests[1].messages.items[2].role, ROLE_ASSISTANT);
    assert_holds(f->model->requests[1].messages.items[2].text, "fail no such thing");
    assert_int_equal(f->model->requests[1].step, 2);
}

TEST_WITH(the_model_reads_tools_and_secrets_of_scripts, set_up, tear_down)
{
    struct fixture *f = *state;
    f->options.tools = &(struct toolset){
        .items = (struct toolset_tool[]){{(char *)"fetch", (char *)""}, {(char *)"store", (char *)""}}, .count = 2};
    f->options.run.secrets = (const char *const[]){"A_KEY", "B_KEY", NULL};
    says(f, "```python\nemit_result(3)\n```");
    run(f, SCRIPT_PLAN);
    assert_holds(rules_told(f), "These tools need no import either: fetch, store\n");
    assert_holds(rules_told(f), "os.environ contains: A_KEY, B_KEY\n");
}

TEST_WITH(scripts_are_found_in_answers, set_up, tear_down)
{
    static const struct {
        const char *text;
        const char *script; /* NULL: none */
    } cases[] = {
        {"emit_result(1)", "emit_result(1)"},
        {"```\nemit_result(1)\n```", "emit_result(1)\n"},
        {"```text\nemit_result(1)\n```", NULL},
        {"```\nno code\n```", NULL},
        {"```sh\nls\n```\n```python3\nemit_result(2)\n```", "emit_result(2)\n"},
        {"I would call print(1).", NULL},
        {"```python\nemit_result(1)", "emit_result(1)\n"}, /* not closed */
        {"```sh\nls\n```\n```python\nemit_result(1)\n", "emit_result(1)\n\n"},
        {"```sh\nemit_result(1)", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tear_down(state);
        set_up(state);
        struct fixture *f = *state;
        says(f, cases[i].text);
        run(f, SCRIPT_PLAN);
        assert_int_equal(f->record.count, cases[i].script ? 1 : 0);
        if (cases[i].script)
            assert_string_equal(f->record.attempts[0].script, cases[i].script);
    }
}

TEST_WITH(a_model_that_writes_no_script, set_up, tear_down)
{
    struct fixture *f = *state;
    says(f, "I cannot count that far.\nSorry.");
    run(f, SCRIPT_PLAN);
    expect(f, false, 0, "the model wrote no script: I cannot count that far.");
    assert_string_equal(f->record.closing, "I cannot count that far.\nSorry.");
    assert_int_equal(f->pool.taken, 0);
}

TEST_WITH(a_block_of_another_language_uses_an_attempt, set_up, tear_down)
{
    struct fixture *f = *state;
    says(f, "```bash\nls\n```");
    says(f, "```python\nfail one\n```");
    says(f, "```python\nemit_result(3)\n```");
    run(f, SCRIPT_PLAN);
    expect(f, true, 2, "attempt 2 returned a result");
    assert_holds(last_told(f, 1), "Your answer has no Python block that calls emit_result");
    assert_int_equal(f->asks, 3);
}

TEST_WITH(answers_without_a_script_end_with_the_attempts, set_up, tear_down)
{
    struct fixture *f = *state;
    says(f, "```bash\nls\n```");
    says(f, "```bash\nls\n```");
    says(f, "```python\nfail one\n```");
    says(f, "```python\nemit_result(3)\n```");
    run(f, SCRIPT_PLAN);
    expect(f, false, 1, "the model wrote no other script (last error: one)");
    assert_int_equal(f->model->request_count, 3);
}

/* ---- INTERACTIVE ---- */

TEST_WITH(an_interactive_run_has_several_steps, set_up, tear_down)
{
    struct fixture *f = *state;
    says(f, "```python\nemit_part([1])\n```");
    says(f, "```python\nprint two\n```");
    says(f, "```python\nfail three\n```");
    says(f, "```python\npass\n```");
    says(f, "All counted:\n```\nemit_result(0)\n```");
    run(f, SCRIPT_INTERACTIVE);
    expect(f, true, 4, "the model finished after 4 steps");
    assert_holds(last_told(f, 1), "Output of the step:\npart: [1]\n");
    assert_holds(last_told(f, 2), "Output of the step:\ntwo\n");
    assert_holds(last_told(f, 3), "It failed: three\n");
    assert_holds(last_told(f, 4), "without output");
    assert_holds(f->record.closing, "All counted:");
    assert_holds(rules_told(f), "step by step");
}

TEST_WITH(output_of_a_step_is_bounded, set_up, tear_down)
{
    struct fixture *f = *state;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "```python\nprint ");
    for (int i = 0; i < 100000; i++)
        strbuf_addch(&text, 'x');
    strbuf_addstr(&text, "\n```");
    says(f, text.buf);
    run(f, SCRIPT_INTERACTIVE);
    assert_in_range(strlen(last_told(f, 1)), 4000, 9000);
}

TEST_WITH(the_same_result_twice_stops, set_up, tear_down)
{
    struct fixture *f = *state;
    f->model->repeat_last = true;
    says(f, "```python\nemit_part(1)\n```");
    run(f, SCRIPT_INTERACTIVE);
    expect(f, false, 2, "2 steps in a row returned the same result");
}

/* ---- a model that fails ---- */

static void fails(struct fixture *f, const char *error, bool retryable, int64_t retry_after_ms)
{
    struct fake_answer *answer = fake_provider_answer(f->model);
    answer->error = error;
    answer->retryable = retryable;
    answer->retry_after_ms = retry_after_ms;
}

TEST_WITH(a_failed_request_is_repeated, set_up, tear_down)
{
    struct fixture *f = *state;
    fails(f, "overloaded", true, -1);
    fails(f, "overloaded", true, 3000);
    says(f, "```python\nfail one\n```");
    fails(f, "overloaded", true, -1); /* counted again for each answer */
    fails(f, "overloaded", true, -1);
    says(f, "```python\nemit_result(1)\n```");
    run(f, SCRIPT_PLAN);
    expect(f, true, 2, "attempt 2 returned a result");
    assert_string_equal(f->told.buf, "overloaded: waits 500|overloaded: waits 3000|begins 1|error|"
                                     "overloaded: waits 500|overloaded: waits 1000|begins 2|final_result|");
    assert_int_equal(f->asks, 2);
    assert_int_equal(f->model->requests[1].at_us, 500000);
    assert_int_equal(f->model->requests[2].at_us, 3500000);
}

TEST_WITH(requests_are_repeated_a_few_times_only, set_up, tear_down)
{
    struct fixture *f = *state;
    f->model->repeat_last = true;
    fails(f, "overloaded", true, -1);
    run(f, SCRIPT_PLAN);
    expect(f, false, 0, "the model failed: overloaded");
    assert_int_equal(f->model->request_count, 3);
}

TEST_WITH(no_retry_if_it_cannot_help, set_up, tear_down)
{
    struct fixture *f = *state;
    fails(f, "the key is not liked (look at key_env)", false, -1);
    run(f, SCRIPT_PLAN);
    expect(f, false, 0, "the model failed: the key is not liked (look at key_env)");
    assert_null(f->record.closing);
}

TEST_WITH(no_retry_if_the_requested_delay_is_too_long, set_up, tear_down)
{
    struct fixture *f = *state;
    fails(f, "overloaded", true, 3600000);
    run(f, SCRIPT_PLAN);
    expect(f, false, 0, "the model failed: overloaded (retry after 3600 s)");
}

/* ---- canceling ---- */

TEST_WITH(cancel_at_every_moment, set_up, tear_down)
{
    static const struct {
        int64_t at_ms; /* it writes for 2 s, is refused, is retried after 500 ms, writes for 3 s, and that hangs */
        size_t attempts;
        bool asked;
    } cases[] = {{0, 0, true}, {1000, 0, true}, {2200, 1, false}, {4600, 1, true}, {8000, 2, false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tear_down(state);
        set_up(state);
        struct fixture *f = *state;
        says(f, "```python\nfail one\n```");
        fails(f, "overloaded", true, 500);
        says(f, "```python\nhang\n```");
        f->model->answers.items[1]->takes_us = 100;
        f->model->answers.items[2]->takes_us = 3000000;
        run_until(f, SCRIPT_PLAN, cases[i].at_ms);
        expect(f, false, cases[i].attempts, "canceled");
        if (f->model->request_count)
            assert_int_equal(f->model->requests[f->model->request_count - 1].cancelled, cases[i].asked);
        assert_null(f->model->listener);
    }
}
