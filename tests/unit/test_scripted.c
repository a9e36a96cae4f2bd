/* Tests of the recorded model, in virtual time. */

#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
#include "model/scripted.h"
#include "support/test.h"
#include <math.h>

struct fixture {
    struct fake_clock clock;
    struct loop *loop;
    struct journal_reader *reader;
    struct provider *model;

    struct model_listener listener; /* its replies */
    struct strbuf text, thinking;   /* of the deltas */
    size_t deltas, dones;
    int64_t done_us, last_delta_us;
    struct model_reply reply;
    size_t cancel_after;                 /* deltas; 0: never */
    const struct message_list *messages; /* the conversation to send; NULL: none */
    bool free_in_done;
    bool in_ask;
};

static struct fixture *fixture_of(struct model_listener *listener)
{
    return (struct fixture *)((char *)listener - offsetof(struct fixture, listener));
}

static void on_delta(struct model_listener *listener, const char *text, const char *thinking)
{
    struct fixture *f = fixture_of(listener);
    assert_false(f->in_ask);
    assert_true((text && *text) || (thinking && *thinking));
    strbuf_addstr(&f->text, text ? text : "");
    strbuf_addstr(&f->thinking, thinking ? thinking : "");
    f->last_delta_us = loop_now_us(f->loop);
    if (++f->deltas == f->cancel_after)
        f->model->ops->cancel(f->model);
}

static void on_done(struct model_listener *listener, struct model_reply *take_reply)
{
    struct fixture *f = fixture_of(listener);
    assert_false(f->in_ask);
    f->dones++;
    f->done_us = loop_now_us(f->loop);
    model_reply_release(&f->reply);
    f->reply = *take_reply;
    if (f->free_in_done) {
        provider_free(f->model);
        f->model = NULL;
    }
}

static void start(struct fixture *f, const char *lines, double speed)
{
    struct err err = ERR_INIT;
    memset(f, 0, sizeof(*f));
    fake_clock_init(&f->clock);
    f->loop = loop_new(&f->clock.base);
    f->reader = journal_open_bytes(lines, strlen(lines), &err);
    if (!f->reader)
        fail_msg("%s", err.text);
    f->model = scripted_new(f->loop, f->reader, speed);
    f->listener = (struct model_listener){on_delta, on_done};
    strbuf_init(&f->text);
    strbuf_init(&f->thinking);
}

static void stop(struct fixture *f)
{
    provider_free(f->model);
    loop_run(f->loop);
    loop_free(f->loop); /* aborts if a timer or a task is left */
    journal_reader_free(f->reader);
    model_reply_release(&f->reply);
    strbuf_release(&f->text);
    strbuf_release(&f->thinking);
}

static void ask_only(struct fixture *f, bool reflection)
{
    struct message_list none = {0};
    f->in_ask = true;
    f->model->ops->ask(
        f->model,
        &(struct model_request){.step = 1, .reflection = reflection, .messages = f->messages ? f->messages : &none},
        &f->listener);
    f->in_ask = false;
}

static const struct model_reply *ask(struct fixture *f, bool reflection)
{
    size_t before = f->dones;
    strbuf_reset(&f->text);
    strbuf_reset(&f->thinking);
    f->deltas = 0;
    ask_only(f, reflection);
    loop_run(f->loop);
    assert_int_equal(f->dones, before + 1);
    return &f->reply;
}

#define STARTED                                                                                               \
    "{\"type\":\"session.started\",\"v\":1,\"session\":\"s\",\"model\":{\"provider\":\"anthropic\",\"name\":" \
    "\"sonnet\"}}\n"
#define TURN       "{\"type\":\"turn.started\",\"prompt\":\"go\"}\n"
#define SAYS(text) "{\"type\":\"model.responded\",\"text\":\"" text "\"}\n"

static const char full[] = STARTED
    "{\"seq\":2,\"t\":5,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"one\"}\n"
    "{\"seq\":3,\"t\":6,\"turn\":1,\"type\":\"model.responded\",\"step\":1,\"text\":\"I read.\",\"thinking\":\"hm\","
    "\"tool_calls\":[{\"id\":\"c1\",\"name\":\"read_file\",\"arguments\":{\"path\": \"a b\", \"n\":9007199254740993}},"
    "{\"id\":\"c2\",\"name\":\"odd\",\"arguments\":\"{not "
    "json\",\"incomplete\":true},{\"name\":\"bare\"}],\"stop\":\"tool_use\","
    "\"usage\":{\"input\":10,\"output\":20,\"cache_read\":3,\"cache_write\":4},\"cost_usd\":0.25,\"latency_ms\":1500}\n"
    "{\"seq\":4,\"t\":7,\"turn\":1,\"type\":\"model.responded\",\"step\":2,\"text\":\"Done.\",\"stop\":\"end_turn\","
    "\"cost_usd\":null,\"latency_ms\":10}\n"
    "{\"seq\":5,\"t\":8,\"turn\":2,\"type\":\"turn.started\",\"prompt\":\"two\"}\n"
    "{\"seq\":6,\"t\":9,\"turn\":2,\"type\":\"model.responded\",\"step\":1,\"text\":\"Again.\"}\n";

TEST(answers_are_played_as_recorded)
{
    struct fixture f;
    start(&f, full, 0);
    assert_string_equal(f.model->ops->name, "scripted");
    assert_string_equal(f.model->ops->model(f.model), "sonnet");
    const struct model_reply *reply = ask(&f, false);
    assert_null(reply->error);
    assert_string_equal(reply->text, "I read.");
    assert_string_equal(reply->thinking, "hm");
    assert_string_equal(reply->stop, "tool_use");
    assert_int_equal(reply->call_count, 3);
    assert_string_equal(reply->calls[0].id, "c1");
    assert_string_equal(reply->calls[0].name, "read_file");
    assert_string_equal(reply->calls[0].arguments, "{\"path\":\"a b\",\"n\":9007199254740993}");
    assert_string_equal(reply->calls[1].arguments, "{not json");
    assert_true(reply->calls[1].incomplete);
    assert_false(reply->calls[0].incomplete);
    assert_string_equal(reply->calls[2].arguments, "{}");
    assert_true(*reply->calls[2].id); /* a hand-written call needs no id */
    assert_int_equal(reply->usage.input, 10);
    assert_int_equal(reply->usage.output, 20);
    assert_int_equal(reply->usage.cache_read, 3);
    assert_int_equal(reply->usage.cache_write, 4);
    assert_true(reply->cost_usd == 0.25);
    assert_int_equal(reply->latency_ms, 1500);
    assert_int_equal(f.done_us, 0); /* speed 0 takes no time and shows no pieces */
    assert_int_equal(f.deltas, 0);

    reply = ask(&f, false);
    assert_string_equal(reply->text, "Done.");
    assert_true(isnan(reply->cost_usd));
    assert_int_equal(reply->call_count, 0);
    reply = ask(&f, false);
    assert_string_equal(reply->text, "Again.");
    assert_string_equal(reply->stop, "end_turn");
    for (int i = 0; i < 2; i++) {
        reply = ask(&f, false);
        assert_string_equal(reply->error, "the recording ends here");
        assert_false(reply->retryable);
    }
    stop(&f);
}

TEST(each_turn_has_its_own_answers)
{
    struct fixture f;
    start(&f, full, 0);
    scripted_turn(f.model, 2);
    assert_string_equal(ask(&f, false)->text, "Again.");
    assert_string_equal(ask(&f, false)->error, "the recording ends here");
    scripted_turn(f.model, 1);
    assert_string_equal(ask(&f, false)->text, "I read.");
    assert_string_equal(ask(&f, false)->text, "Done.");
    assert_string_equal(ask(&f, false)->error, "the recording ends here"); /* not the next turn's */
    scripted_turn(f.model, 3);
    assert_string_equal(ask(&f, false)->error, "the recording ends here");
    stop(&f);
}

TEST(hand_written_turns_are_counted)
{
    struct fixture f;
    start(&f, STARTED TURN SAYS("a") SAYS("b") TURN SAYS("c"), 0);
    scripted_turn(f.model, 1);
    assert_string_equal(ask(&f, false)->text, "a");
    scripted_turn(f.model, 2);
    assert_string_equal(ask(&f, false)->text, "c");
    assert_string_equal(ask(&f, false)->error, "the recording ends here");
    stop(&f);
}

TEST(bad_line_is_reported_and_the_next_answer_plays)
{
    static const char *const bad[] = {
        "{\"type\":\"model.responded\",\"text\":5}\n",
        "{\"type\":\"model.responded\",\"tool_calls\":{}}\n",
        "{\"type\":\"model.responded\",\"tool_calls\":[{\"id\":\"c1\"}]}\n",
        "{\"type\":\"model.responded\", oh\n",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct fixture f;
        CLEANUP(free) char *lines = xasprintf("%s%s%s%s", STARTED, TURN, bad[i], SAYS("next"));
        start(&f, lines, 1);
        const struct model_reply *reply = ask(&f, false);
        assert_non_null(reply->error);
        assert_non_null(strstr(reply->error, "line 3"));
        assert_false(reply->retryable);
        assert_null(reply->calls);
        assert_string_equal(ask(&f, false)->text, "next");
        stop(&f);
    }
}

TEST(a_file_that_cannot_be_played_is_refused_with_its_line)
{
    static const struct {
        const char *line, *why;
    } cases[] = {
        {"{\"type\":\"model.responded\",\"tool_calls\":\"nope\"}\n", "must be a list"},
        {"{\"type\":\"model.responded\",\"tool_calls\":[7]}\n", "a tool call has no name"},
        {"{\"type\":\"model.responded\",\"tool_calls\":[{\"id\":\"c1\"}]}\n", "a tool call has no name"},
        {"{\"type\":\"model.responded\",\"usage\":[]}\n", "must be an object"},
        {"{\"type\":\"waves.planned\",\"waves\":3}\n", "must be a list"}, /* no answer, and still a broken file */
        {"{\"type\":\"model.responded\", oh\n", "not one JSON object"},
        {SAYS("fine"), NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct err err = ERR_INIT;
        CLEANUP(free) char *lines = xasprintf("%s%s%s%s", STARTED, TURN, cases[i].line, SAYS("next"));
        struct journal_reader *reader = journal_open_bytes(lines, strlen(lines), &err);
        assert_non_null(reader);
        assert_int_equal(scripted_check(reader, &err), cases[i].why ? -1 : 0);
        if (cases[i].why) {
            assert_int_equal(err.line, 3);
            assert_non_null(strstr(err.text, cases[i].why));
        }
        journal_reader_free(reader);
    }
}

TEST(an_answer_takes_its_recorded_time)
{
    static const struct {
        double speed;
        int64_t us;
    } cases[] = {{1, 1500000}, {2, 750000}, {0.5, 3000000}, {0, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        start(&f, full, cases[i].speed);
        ask(&f, false);
        assert_int_equal(f.done_us, cases[i].us);
        assert_int_equal(f.reply.latency_ms, 1500); /* what was recorded, not what was played */
        stop(&f);
    }
}

#define LONG "This is an answer of several words; it comes in pieces, one after the other, and adds up."

TEST(without_deltas_the_text_comes_in_words)
{
    struct fixture f;
    start(&f,
          STARTED TURN "{\"type\":\"model.responded\",\"text\":\"" LONG "\",\"thinking\":\"let me see what there is\","
                       "\"latency_ms\":2000}\n",
          1);
    ask(&f, false);
    assert_string_equal(f.text.buf, LONG);
    assert_string_equal(f.thinking.buf, "let me see what there is");
    assert_true(f.deltas >= 5);
    assert_true(f.last_delta_us < f.done_us);
    assert_int_equal(f.done_us, 2000000);
    stop(&f);

    start(&f, STARTED TURN "{\"type\":\"model.responded\",\"text\":\"" LONG "\",\"latency_ms\":2000}\n", 1);
    f.listener.delta = NULL; /* no listener for deltas */
    ask(&f, false);
    assert_int_equal(f.deltas, 0);
    stop(&f);
}

TEST(recorded_deltas_are_played)
{
    struct fixture f;
    start(
        &f,
        STARTED TURN
        "{\"type\":\"model.delta\",\"step\":1,\"thinking\":\"h\"}\n"
        "{\"type\":\"model.delta\",\"step\":1,\"text\":\"ab\"}\n{\"type\":\"model.delta\",\"step\":1,\"text\":\"cd\"}\n"
        "{\"type\":\"model.responded\",\"step\":1,\"text\":\"abcd\",\"latency_ms\":400}\n"
        "{\"type\":\"model.delta\",\"step\":2,\"text\":\"ef\"}\n"
        "{\"type\":\"model.responded\",\"step\":2,\"text\":\"ef\",\"latency_ms\":400}\n",
        1);
    ask(&f, false);
    assert_int_equal(f.deltas, 3);
    assert_string_equal(f.text.buf, "abcd");
    assert_string_equal(f.thinking.buf, "h");
    assert_int_equal(f.last_delta_us, 300000);
    ask(&f, false);
    assert_int_equal(f.deltas, 1);
    assert_string_equal(f.text.buf, "ef");
    stop(&f);
}

TEST(reflections_have_their_own_order)
{
    struct fixture f;
    start(&f,
          STARTED TURN SAYS(
              "a") "{\"type\":\"reflection\",\"step\":1,\"text\":\"[budget "
                   "exhausted]\",\"should_continue\":true,\"stub\":true}\n"
                   "{\"type\":\"reflection\",\"step\":1,\"text\":\"try "
                   "b\",\"should_continue\":true,\"stub\":false}\n" SAYS(
                       "b") "{\"type\":\"reflection\",\"step\":2,\"text\":\"hopeless\",\"should_continue\":false,"
                            "\"stub\":false}\n" TURN SAYS("c") "{\"type\":\"reflection\",\"step\":1,\"text\":\"other\","
                                                               "\"should_continue\":true}\n",
          1);
    scripted_turn(f.model, 1);
    assert_string_equal(ask(&f, false)->text, "a");
    assert_string_equal(ask(&f, true)->text, "try b");
    assert_string_equal(ask(&f, false)->text, "b");
    assert_string_equal(ask(&f, true)->text, "STOP hopeless");
    assert_non_null(ask(&f, true)->error);
    scripted_turn(f.model, 2);
    assert_string_equal(ask(&f, true)->text, "other");
    stop(&f);
}

TEST(a_canceled_request_is_silent_and_keeps_its_answer)
{
    static const double speeds[] = {0, 1};
    for (size_t i = 0; i < COUNT_OF(speeds); i++) {
        struct fixture f;
        start(&f, full, speeds[i]);
        f.model->ops->cancel(f.model); /* idle: nothing happens */
        ask_only(&f, false);
        f.model->ops->cancel(f.model);
        f.model->ops->cancel(f.model);
        loop_run(f.loop);
        assert_int_equal(f.dones, 0);
        assert_string_equal(ask(&f, false)->text, "I read.");
        stop(&f);
    }
}

TEST(a_request_can_be_canceled_at_every_delta)
{
    for (size_t after = 1; after < 10; after++) {
        struct fixture f;
        start(&f, STARTED TURN "{\"type\":\"model.responded\",\"text\":\"" LONG "\",\"latency_ms\":2000}\n", 1);
        f.cancel_after = after;
        ask_only(&f, false);
        loop_run(f.loop);
        assert_int_equal(f.dones, 0);
        assert_int_equal(f.deltas, after);
        stop(&f);
    }
}

TEST(the_model_can_be_freed_while_it_answers)
{
    struct fixture f;
    start(&f, full, 0);
    f.free_in_done = true;
    ask(&f, false);
    assert_null(f.model);
    stop(&f);
    start(&f, full, 1);
    ask_only(&f, false);
    stop(&f);
    assert_int_equal(f.dones, 0);
}

/* Checks the answer for this result of the call; the rest of the conversation does not matter. */
static void expect_said(const char *call, const char *result, double speed, const char *want)
{
    static const char lines[] = STARTED TURN
        "{\"type\":\"model.delta\",\"text\":\"It is \"}\n{\"type\":\"model.delta\",\"text\":\"in.\"}\n"
        "{\"type\":\"model.responded\",\"text\":\"It is in.\",\"latency_ms\":400,\"variants\":["
        "{\"when\":{\"w\":\"\\\"denied\\\"\",\"x\":\"no\"},\"text\":\"Both were refused.\"},"
        "{\"when\":{\"w\":\"\\\"denied\\\"\"},\"text\":\"It was refused.\"},"
        "{\"when\":{\"w\":7},\"text\":\"never\"},{\"when\":{},\"text\":\"never\"},{\"text\":\"never\"},5]}\n";
    struct message_list messages;
    struct fixture f;
    message_list_init(&messages);
    message_list_add(&messages, ROLE_TOOL, "{\"status\":\"denied\"}")->call_id = xstrdup("other");
    message_list_add(&messages, ROLE_TOOL, result)->call_id = xstrdup(call);
    start(&f, lines, speed);
    f.messages = &messages;
    assert_string_equal(ask(&f, false)->text, want);
    /* No other text arrives meanwhile. */
    assert_string_equal(f.text.buf, speed > 0 ? want : "");
    stop(&f);
    message_list_release(&messages);
}

TEST(answer_may_depend_on_the_decision)
{
    for (double speed = 0; speed < 2; speed++) {
        expect_said("w", "{\"status\":\"denied\"}", speed, "It was refused.");
        expect_said("w", "{\"applied\":true}", speed, "It is in.");
        expect_said("v", "{\"status\":\"denied\"}", speed, "It is in.");
    }
}
