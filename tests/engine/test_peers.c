/* Tests answers that are too large: none of their calls run, they do not fill the journal, and they do not block the
 * loop. The meter of the loop (core/base/loop_meter.h) is on, so the test also sends the largest accepted answers. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/turn_check.h"

static void add_calls(struct fake_answer *answer, size_t count, bool same_id)
{
    for (size_t i = 0; i < count; i++) {
        CLEANUP(free) char *id = xasprintf("id%zu", i);
        CLEANUP(free) char *arguments = xasprintf("{\"path\":\"a.txt\",\"offset\":%zu}", i + 1);
        fake_answer_call(answer, same_id ? "same" : id, "read_file", arguments);
    }
}

static char *fill(size_t len, const char *with)
{
    struct strbuf text = STRBUF_INIT;
    while (text.len + strlen(with) <= len)
        strbuf_addstr(&text, with);
    return strbuf_detach(&text, NULL);
}

/* Room for every event of a turn but none for a MB. */
static size_t journal_bytes(const struct turn_rig *rig)
{
    size_t bytes = 0;
    for (size_t i = 0; i < rig->event_count; i++)
        bytes += rig->events[i].raw_len;
    return bytes;
}

static void begin(struct turn_rig *rig)
{
    turn_rig_init(rig);
    rig->config.limits.tool_calls = 10000;
    turn_rig_file(rig, "a.txt", "one\ntwo\n");
    turn_rig_open(rig);
}

/* The request failed at once and finally, and none of its calls ran. */
static void check_refused(struct turn_rig *rig, const char *why)
{
    turn_rig_turn(rig, "go");
    assert_int_equal(turn_rig_count(rig, EVENT_MODEL_FAILED), 1);
    assert_non_null(strstr(turn_rig_event(rig, EVENT_MODEL_FAILED, 0)->model_failed.error, why));
    assert_int_equal(turn_rig_event(rig, EVENT_MODEL_FAILED, 0)->model_failed.retry_in_ms, EVENT_NULL_INT);
    assert_int_equal(turn_rig_count(rig, EVENT_MODEL_RESPONDED), 0);
    assert_int_equal(turn_rig_count(rig, EVENT_TOOL_STARTED), 0);
    assert_int_equal(turn_rig_count(rig, EVENT_TOOL_FINISHED), 0);
    assert_int_equal(rig->model->request_count, 1);
    assert_string_equal(turn_check_finished(rig)->status, "failed");
    assert_true(journal_bytes(rig) < 100000);
    turn_check_end(rig);
}

TEST(too_many_calls_fail_and_none_runs)
{
    static const size_t counts[] = {MODEL_CALLS_MAX + 1, 5000};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct turn_rig rig;
        begin(&rig);
        add_calls(fake_provider_answer(rig.model), counts[i], true);
        check_refused(&rig, "more than 512 tool calls");
    }
}

TEST(the_maximum_of_calls_all_run)
{
    for (int same = 0; same < 2; same++) {
        struct turn_rig rig;
        begin(&rig);
        add_calls(fake_provider_answer(rig.model), MODEL_CALLS_MAX, same);
        turn_rig_turn(&rig, "go");
        assert_int_equal(turn_rig_count(&rig, EVENT_TOOL_FINISHED), MODEL_CALLS_MAX);
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        turn_check_end(&rig);
    }
}

TEST(too_long_text_fails)
{
    struct turn_rig rig;
    CLEANUP(free) char *text = fill(MODEL_BYTES_MAX + 100, "All work and no play. ");
    begin(&rig);
    fake_provider_answer(rig.model)->text = text;
    check_refused(&rig, "exceeds 2 MB");
    CLEANUP(free) char *controls = fill(MODEL_BYTES_MAX / 5, "\x1b"); /* each takes six bytes of the record */
    begin(&rig);
    fake_provider_answer(rig.model)->text = controls;
    check_refused(&rig, "exceeds 2 MB");
}

TEST(arguments_of_too_many_values_fail)
{
    struct turn_rig rig;
    CLEANUP(free) char *values = fill((size_t)2 * (MODEL_VALUES_MAX + 1), "1,");
    CLEANUP(free) char *arguments = xasprintf("{\"path\":[%s1]}", values);
    begin(&rig);
    fake_answer_call(fake_provider_answer(rig.model), "c", "read_file", arguments);
    check_refused(&rig, "more than 20000 values");
}

/* The largest accepted answers: the meter checks them. */
TEST(largest_accepted_answers_do_not_block_the_loop)
{
    CLEANUP(free)
    char *text = fill(MODEL_BYTES_MAX / 12 * 8 - 200, "x\t\"\\\n\xc3\xa4 "); /* the record has 12 bytes for 8 */
    CLEANUP(free) char *controls = fill(MODEL_BYTES_MAX / 6 - 100, "\x7f");
    CLEANUP(free) char *del = xasprintf("{\"path\":\"del.txt\",\"content\":\"%s\"}", controls);
    CLEANUP(free) char *content = fill(MODEL_BYTES_MAX - 100, "some words\\n");
    CLEANUP(free) char *write = xasprintf("{\"path\":\"new.txt\",\"content\":\"%s\"}", content);
    CLEANUP(free) char *values = fill((size_t)2 * (MODEL_VALUES_MAX - 10), "1,");
    CLEANUP(free) char *fields = xasprintf("{\"path\":[%s1]}", values);
    CLEANUP(free) char *deep = fill(MODEL_VALUES_MAX - 10, "[");
    const struct {
        const char *text, *tool, *arguments;
    } answers[] = {{text, NULL, NULL},        {controls, NULL, NULL},      {NULL, "write_file", write},
                   {NULL, "write_file", del}, {NULL, "read_file", fields}, {NULL, "read_file", deep}};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct turn_rig rig;
        begin(&rig);
        rig.answer = turn_rig_say_yes;
        if (answers[i].text)
            fake_provider_answer(rig.model)->text = answers[i].text;
        else
            fake_answer_call(fake_provider_answer(rig.model), "c", answers[i].tool, answers[i].arguments);
        turn_rig_turn(&rig, "go");
        assert_string_equal(turn_check_finished(&rig)->status, "done");
        turn_check_end(&rig);
    }
}

/* Deltas are recorded as they arrive, and again with the answer. Of a long one, only the beginning is recorded twice.
 */
TEST(pieces_of_a_long_answer_are_journaled_up_to_a_limit)
{
    enum { PIECES = 200 };
    struct turn_rig rig;
    CLEANUP(free) char *piece = fill(10000, "piece ");
    const char *deltas[PIECES + 1] = {NULL};
    size_t told = 0;
    for (size_t i = 0; i < PIECES; i++)
        deltas[i] = piece;
    begin(&rig);
    struct fake_answer *answer = fake_provider_answer(rig.model);
    answer->error = "the answer is too long";
    answer->deltas = deltas;
    turn_rig_turn(&rig, "go");
    for (size_t i = 0; i < turn_rig_count(&rig, EVENT_MODEL_DELTA); i++)
        told += strlen(turn_rig_event(&rig, EVENT_MODEL_DELTA, i)->model_delta.text);
    assert_true(told > 400000 && told <= (512 << 10));
    assert_true(journal_bytes(&rig) < 700000);
    turn_check_end(&rig);
}
