/* Tests of forks: a recording can be continued from any event. The turn is rebuilt from its lines, open calls get "not
 * run", the model gets the full conversation, and the result is an ordinary journal. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/rich_turn.h"
#include "support/test.h"

/* ---- a recording, and its requests to the model ---- */

struct original {
    char *bytes;
    size_t len;
    struct journal_reader *reader;
    char *asked[16]; /* messages of the n-th request of a step */
    size_t asked_count;
};

static char *messages_text(const struct message_list *messages)
{
    struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event = {.type = EVENT_TURN_PREPARED,
                          .turn_prepared = {.messages = message_list_to_event(&arena, messages)}};
    strbuf_addstr(&text, event_json(&event, "messages"));
    for (size_t i = 0; i < messages->count; i++)
        strbuf_addf(&text, " %s", messages->items[i].opaque ? messages->items[i].opaque : "-");
    return strbuf_detach(&text, NULL);
}

static void original_make(struct original *original, bool stepping)
{
    struct rich_turn rich;
    CLEANUP(free) char *path = NULL;
    struct err err = ERR_INIT;
    *original = (struct original){0};
    rich_turn_init(&rich);
    rich.journal = path = scratch_path(&rich.rig.scratch, "s.jsonl");
    rich.stepping = stepping;
    rich_turn_run(&rich);
    for (size_t i = 0; i < rich.rig.model->request_count; i++)
        if (!rich.rig.model->requests[i].reflection)
            original->asked[original->asked_count++] = messages_text(&rich.rig.model->requests[i].messages);
    original->bytes = scratch_read(&rich.rig.scratch, "s.jsonl", &original->len);
    rich_turn_release(&rich);
    original->reader = journal_open_bytes(original->bytes, original->len, &err);
    assert_non_null(original->reader);
}

static void original_release(struct original *original)
{
    journal_reader_free(original->reader);
    for (size_t i = 0; i < original->asked_count; i++)
        free(original->asked[i]);
    free(original->bytes);
}

/* ---- forks after `count` lines of it ---- */

static void resume(struct rich_turn *rich, const char *bytes, size_t len)
{
    struct turn_rig *rig = &rich->rig;
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = NULL;
    rich_turn_init(rich);
    rig->model->answers.next = rig->model->answers.count; /* from here on the model answers "done" */
    rig->model->reflections.next = rig->model->reflections.count;
    scratch_write_bytes(&rig->scratch, "fork.jsonl", bytes, len);
    path = scratch_path(&rig->scratch, "fork.jsonl");
    struct journal_reader *reader = journal_open(path, &err);
    assert_non_null(reader);
    struct journal *journal = journal_resume(path, &rig->clock.base, &err);
    assert_non_null(journal);
    rig->engine = engine_resume(&rig->config, journal, reader, &rig->sink, &err);
    assert_non_null(rig->engine);
    journal_reader_free(reader);
}

static size_t length_of(const struct original *original, size_t count)
{
    size_t len;
    const char *line = journal_line(original->reader, count - 1, &len);
    return (size_t)(line - original->bytes) + len + 1;
}

static enum event_type type_of(const struct original *original, size_t index, int64_t *step)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    assert_int_equal(journal_event(original->reader, index, &event, &arena, NULL), 0);
    *step = event.type == EVENT_MODEL_REQUESTED ? event.model_requested.step : 0;
    return event.type;
}

/* Each call of an answer is followed by one message, in order, before any other text. */
static void check_messages(const struct message_list *messages)
{
    for (size_t i = 0; i < messages->count; i++) {
        const struct message *message = &messages->items[i];
        for (size_t k = 0; k < message->call_count; k++) {
            assert_true(i + 1 + k < messages->count);
            assert_int_equal(messages->items[i + 1 + k].role, ROLE_TOOL);
            assert_string_equal(messages->items[i + 1 + k].call_id, message->calls[k].id);
            assert_true(*messages->items[i + 1 + k].text);
        }
    }
}

static void check_whole(const struct session *session)
{
    const struct session_turn *turn = session_turn(session);
    for (uint32_t i = 0; i < session->fault_count && i < SESSION_FAULTS_KEPT; i++)
        fail_msg("seq %u: %s", session->faults[i].seq, session->faults[i].text);
    assert_int_equal(session->turn_count, 1);
    assert_true(turn->finished_seq != 0);
    assert_string_equal(session_name(session, turn->status), "done");
    for (uint32_t i = 0; i < session->call_count; i++)
        assert_true(session->calls[i].finished_seq != 0);
    assert_int_equal(session->held_gate, 0);
    assert_int_equal(session->open_question, SESSION_NONE);
}

static void fork_everywhere(bool stepping)
{
    struct original original;
    size_t gone_on = 0, compared = 0;
    original_make(&original, stepping);
    for (size_t count = 1; count <= journal_count(original.reader); count++) {
        struct rich_turn rich;
        int64_t step;
        enum event_type type = type_of(&original, count - 1, &step);
        resume(&rich, original.bytes, length_of(&original, count));
        const struct session *session = engine_session(rich.rig.engine);
        bool under_way = session_turn_running(session) && !session_turn(session)->writes_closed;
        assert_int_equal(engine_turn_left(rich.rig.engine), under_way);
        const char *refused = turn_check_submit(&rich.rig, &(struct intent){.type = INTENT_RESUME_TURN});
        if (!under_way) {
            assert_string_equal(refused, "no unfinished turn");
            rich_turn_release(&rich);
            continue;
        }
        assert_string_equal(refused, "");
        turn_rig_run(&rich.rig);
        check_whole(engine_session(rich.rig.engine));
        gone_on++;
        if (rich.rig.model->request_count && !rich.rig.model->requests[0].reflection)
            check_messages(&rich.rig.model->requests[0].messages);
        /* At the position of a recorded request, the fork sends the same request. */
        if (type == EVENT_MODEL_REQUESTED) {
            CLEANUP(free) char *asked = messages_text(&rich.rig.model->requests[0].messages);
            bool found = false;
            for (size_t i = 0; i < original.asked_count; i++)
                found |= strcmp(asked, original.asked[i]) == 0;
            assert_true(found);
            assert_int_equal(rich.rig.model->requests[0].step, step);
            compared++;
        }
        rich_turn_release(&rich);
    }
    assert_true(gone_on > 30);
    assert_int_equal(compared, original.asked_count);
    original_release(&original);
}

TEST(fork_works_at_every_event)
{
    fork_everywhere(false);
}

TEST(fork_works_at_every_event_of_a_stepped_session)
{
    fork_everywhere(true);
}

/* ---- hand-written recordings ---- */

#define BEGINNING                                                                             \
    "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"s\"}\n" \
    "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"look\"}\n"
#define ASKED                                                                                                     \
    "{\"seq\":3,\"t\":0,\"turn\":1,\"type\":\"model.responded\",\"step\":1,\"text\":\"I look.\",\"tool_calls\":[" \
    "{\"id\":\"r\",\"name\":\"read_file\",\"arguments\":{\"path\":\"a.txt\"}},"                                   \
    "{\"id\":\"w\",\"name\":\"write_file\",\"arguments\":{\"path\":\"a.txt\",\"content\":\"x\"}}]}\n"

/* A hand-written recording lacks its first request, which is rebuilt; the recorded messages follow it. */
TEST(fork_works_without_the_first_request)
{
    static const char recorded[] = BEGINNING ASKED;
    struct rich_turn rich;
    resume(&rich, recorded, sizeof(recorded) - 1);
    turn_check_do(&rich.rig, INTENT_RESUME_TURN);
    check_whole(engine_session(rich.rig.engine));
    const struct message_list *messages = turn_rig_messages(&rich.rig);
    size_t count = messages->count;
    check_messages(messages);
    assert_string_equal(messages->items[count - 4].text, "look");
    assert_string_equal(messages->items[count - 3].text, "I look.");
    assert_non_null(strstr(turn_check_message(&rich.rig, "r"), "not run"));
    assert_non_null(strstr(turn_check_message(&rich.rig, "w"), "not run"));
    rich_turn_release(&rich);
}

/* The model may repeat the calls: they did not run, so they are no duplicates. */
TEST(calls_that_did_not_run_may_be_repeated)
{
    static const char recorded[] = BEGINNING ASKED;
    struct rich_turn rich;
    CLEANUP(free) char *written = NULL;
    resume(&rich, recorded, sizeof(recorded) - 1);
    fake_answer_call(fake_provider_answer(rich.rig.model), "w", "write_file", "{\"path\":\"a.txt\",\"content\":\"x\"}");
    rich.rig.answer = turn_rig_say_yes;
    turn_check_do(&rich.rig, INTENT_RESUME_TURN);
    written = turn_rig_read(&rich.rig, "a.txt");
    assert_string_equal(written, "x");
    /* The id was used: the same id again would give one call two outcomes. */
    assert_string_not_equal(turn_rig_event(&rich.rig, EVENT_TOOL_STARTED, 0)->tool_started.call, "w");
    check_whole(engine_session(rich.rig.engine));
    rich_turn_release(&rich);
}

/* Used budget stays used. */
TEST(budget_continues_where_it_was)
{
    static const char recorded[] = BEGINNING
        "{\"seq\":3,\"t\":0,\"turn\":1,\"type\":\"budget.opened\",\"limits\":{\"wall_ms\":60000,\"steps\":2,"
        "\"tool_calls\":5,\"reflections\":1,\"context_tokens\":1000}}\n"
        "{\"seq\":4,\"t\":0,\"turn\":1,\"type\":\"turn.prepared\",\"messages\":[{\"role\":\"user\",\"text\":\"look\"}],"
        "\"tools\":[\"read_file\"]}\n" ASKED
        "{\"seq\":6,\"t\":0,\"turn\":1,\"type\":\"budget.charged\",\"used\":{\"wall_ms\":20000}}\n";
    struct rich_turn rich;
    resume(&rich, recorded, sizeof(recorded) - 1);
    rich.rig.config.interactive = false;
    fake_answer_call(fake_provider_answer(rich.rig.model), "r2", "read_file", "{\"path\":\"b.txt\"}");
    turn_check_do(&rich.rig, INTENT_RESUME_TURN);
    assert_int_equal(fake_provider_steps(rich.rig.model), 1); /* the second of two */
    assert_int_equal(rich.rig.model->requests[0].timeout_ms, 40000);
    assert_int_equal(rich.rig.model->requests[0].tool_count, 1);
    assert_string_equal(turn_check_finished(&rich.rig)->status, "budget");
    assert_int_equal(turn_check_finished(&rich.rig)->steps, 2);
    rich_turn_release(&rich);
}

TEST(turn_that_lost_calls_to_a_limit_is_not_done_after_a_resume)
{
    static const char recorded[] = BEGINNING
        "{\"seq\":3,\"t\":0,\"turn\":1,\"type\":\"budget.opened\",\"limits\":{\"wall_ms\":60000,\"steps\":6,"
        "\"tool_calls\":0,\"reflections\":1,\"context_tokens\":1000}}\n"
        "{\"seq\":4,\"t\":0,\"turn\":1,\"type\":\"turn.prepared\",\"messages\":[{\"role\":\"user\",\"text\":\"look\"}],"
        "\"tools\":[\"read_file\"]}\n" ASKED
        "{\"seq\":6,\"t\":0,\"turn\":1,\"type\":\"tool.finished\",\"call\":\"w\",\"tool\":\"write_file\","
        "\"outcome\":\"denied\",\"elapsed_ms\":0,\"denied\":{\"reason\":\"blocked\",\"details\":\"a limit\"}}\n";
    struct rich_turn rich;
    resume(&rich, recorded, sizeof(recorded) - 1);
    turn_check_do(&rich.rig, INTENT_RESUME_TURN);
    assert_string_equal(turn_check_finished(&rich.rig)->status, "budget");
    assert_string_equal(turn_check_finished(&rich.rig)->limit->key, "tool_calls");
    assert_int_equal(turn_check_finished(&rich.rig)->limit->skipped, 1);
    rich_turn_release(&rich);
}

/* The old bytes are with the session that was forked. An undo in the fork must not take its own for them. */
TEST(fork_does_not_undo_with_the_checkpoint_of_another_write)
{
    static const char recorded[] = BEGINNING ASKED
        "{\"seq\":6,\"t\":0,\"turn\":1,\"type\":\"write.proposed\",\"call\":\"w\",\"ask\":\"a1\","
        "\"files\":[{\"path\":\"a.txt\"}]}\n"
        "{\"seq\":7,\"t\":0,\"turn\":1,\"type\":\"write.decided\",\"ask\":\"a1\",\"decision\":\"approved\","
        "\"by\":\"key\"}\n"
        "{\"seq\":8,\"t\":0,\"turn\":1,\"type\":\"checkpoint.saved\",\"checkpoint\":\"cp_1\",\"call\":\"w\","
        "\"paths\":[\"a.txt\"]}\n"
        "{\"seq\":9,\"t\":0,\"turn\":1,\"type\":\"write.applied\",\"call\":\"w\","
        "\"files\":[{\"path\":\"a.txt\"}]}\n";
    struct rich_turn rich;
    CLEANUP(free) char *kept = NULL;
    resume(&rich, recorded, sizeof(recorded) - 1);
    fake_answer_call(fake_provider_answer(rich.rig.model), "v", "write_file", "{\"path\":\"b.txt\",\"content\":\"b\"}");
    rich.rig.answer = turn_rig_say_yes;
    turn_check_do(&rich.rig, INTENT_RESUME_TURN);
    assert_string_equal(turn_rig_event(&rich.rig, EVENT_CHECKPOINT_SAVED, 0)->checkpoint_saved.checkpoint, "cp_2");
    turn_rig_submit(&rich.rig, &(struct intent){.type = INTENT_UNDO, .undo = {"#2"}});
    turn_rig_run(&rich.rig);
    assert_int_equal(turn_rig_count(&rich.rig, EVENT_WRITE_UNDONE), 0);
    assert_string_equal(turn_rig_event(&rich.rig, EVENT_WORKSPACE_OP, 0)->workspace_op.error,
                        "the old bytes (cp_1) are not here; another session saved them");
    kept = turn_rig_read(&rich.rig, "b.txt");
    assert_string_equal(kept, "b");
    rich_turn_release(&rich);
}

TEST(new_prompt_abandons_the_open_turn)
{
    static const char recorded[] = BEGINNING ASKED;
    struct rich_turn rich;
    resume(&rich, recorded, sizeof(recorded) - 1);
    turn_rig_turn(&rich.rig, "something else");
    assert_string_equal(turn_check_finished(&rich.rig)->status, "done");
    assert_false(engine_turn_left(rich.rig.engine));
    rich_turn_release(&rich);
}

void test_begin(void)
{
    rich_turn_in_memory();
}
