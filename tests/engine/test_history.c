/* The conversation of earlier turns, as the APIs get it: valid for both dialects, the same from a live session and from
 * its journal, and without what only another model could read. The models are real ones on the loopback. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/http.h"
#include "model/live.h"
#include "support/event_json.h"
#include "support/model_server.h"
#include "support/streams.h"
#include "support/test.h"
#include "support/turn_check.h"

/* ---- a session with a live model ---- */

struct talk {
    struct turn_rig rig;
    struct model_server *server;
    struct http *http;
    struct provider *provider;
    const char *dialect;
    char *journal;
};

static struct provider *live(struct talk *talk, const char *model)
{
    struct err err = ERR_INIT;
    struct provider *provider = live_new(talk->rig.loop, talk->http,
                                         &(struct live_spec){.provider = talk->dialect,
                                                             .model = model,
                                                             .base_url = model_server_url(talk->server),
                                                             .keep_reasoning = true,
                                                             .prices = PRICES_UNKNOWN},
                                         &err);
    if (!provider)
        fail_msg("%s", err.text);
    return provider;
}

static void talk_begin(struct talk *talk, const char *dialect)
{
    setenv("no_proxy", "127.0.0.1", 1);
    *talk = (struct talk){.dialect = dialect, .server = model_server_new()};
    turn_rig_init_on(&talk->rig, clock_system());
    talk->http = http_new(talk->rig.loop, NULL);
    talk->provider = live(talk, "m");
    talk->rig.config.provider = talk->provider;
    talk->journal = scratch_path(&talk->rig.scratch, "s.jsonl");
    turn_rig_file(&talk->rig, "b", "text of b\n");
    turn_rig_file(&talk->rig, "a.txt", "text of a\n");
}

static void talk_end(struct talk *talk)
{
    engine_free(steal(&talk->rig.engine));
    talk->rig.config.provider = &talk->rig.model->base;
    provider_free(talk->provider);
    http_free(talk->http);
    turn_rig_release(&talk->rig);
    model_server_free(talk->server);
    free(talk->journal);
}

static void serve(struct talk *talk, const char *stream)
{
    CLEANUP(free) char *name = xasprintf("%s-%s", talk->dialect, stream);
    for (const struct stream *at = streams; at->name; at++)
        if (strcmp(at->name, name) == 0) {
            model_server_add(talk->server, &(struct served){.body = at->text});
            return;
        }
    fail_msg("no stream %s", name);
}

static void open_new(struct talk *talk)
{
    struct err err = ERR_INIT;
    struct journal *journal = journal_create(talk->journal, loop_clock(talk->rig.loop), &err);
    assert_non_null(journal);
    talk->rig.engine = engine_new(&talk->rig.config, journal, &talk->rig.sink, &err);
    assert_non_null(talk->rig.engine);
}

static void open_again(struct talk *talk, const char *bytes, size_t len)
{
    struct err err = ERR_INIT;
    engine_free(steal(&talk->rig.engine));
    scratch_write_bytes(&talk->rig.scratch, "s.jsonl", bytes, len);
    struct journal_reader *reader = journal_open(talk->journal, &err);
    assert_non_null(reader);
    struct journal *journal = journal_resume(talk->journal, loop_clock(talk->rig.loop), &err);
    assert_non_null(journal);
    talk->rig.engine = engine_resume(&talk->rig.config, journal, reader, &talk->rig.sink, &err);
    assert_non_null(talk->rig.engine);
    journal_reader_free(reader);
}

/* The stream ends in the middle, and the user cancels. */
static void cancel_in_the_answer(struct talk *talk)
{
    static const char begun[] =
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,"
        "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
        "\"text\":\"It is half\"}}\n\n";
    static const char begun_openai[] =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"It is half\"},\"finish_reason\":null}]}\n\n";
    size_t before = turn_rig_count(&talk->rig, EVENT_MODEL_DELTA);
    model_server_add(talk->server, &(struct served){.body = strcmp(talk->dialect, "openai") == 0 ? begun_openai : begun,
                                                    .lengthless = true,
                                                    .silent = true});
    turn_rig_submit(&talk->rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "explain"}});
    for (int i = 0; i < 500 && turn_rig_count(&talk->rig, EVENT_MODEL_DELTA) == before; i++)
        turn_rig_run_for(&talk->rig, 20000);
    turn_rig_submit(&talk->rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&talk->rig);
    assert_string_equal(turn_check_finished(&talk->rig)->status, "cancelled");
}

/* Four turns: calls and an answer, an answer, the same call ids again, and an answer that is canceled. */
static void converse(struct talk *talk)
{
    open_new(talk);
    for (int i = 0; i < 2; i++) {
        serve(talk, strcmp(talk->dialect, "openai") == 0 ? "calls" : "thinking");
        serve(talk, "text");
        turn_rig_turn(&talk->rig, "read it");
        serve(talk, "text");
        turn_rig_turn(&talk->rig, "and?");
    }
    cancel_in_the_answer(talk);
}

/* ---- what the APIs demand ---- */

/* Messages take turns, an id occurs once, and a call has its result in the next message. */
static size_t check_anthropic(const struct json *messages)
{
    CLEANUP(strbuf) struct strbuf ids = STRBUF_INIT;
    const char *role = "assistant";
    size_t calls = 0;
    for (size_t i = 0; json_at(messages, i); i++) {
        const struct json *message = json_at(messages, i), *next = json_at(messages, i + 1);
        assert_string_not_equal(json_str(json_get(message, "role"), ""), role);
        role = json_str(json_get(message, "role"), "");
        json_each (block, json_get(message, "content")) {
            const char *id = json_str(json_get(block, "id"), NULL);
            bool answered = false;
            if (!id)
                continue;
            CLEANUP(free) char *marked = xasprintf("<%s>", id);
            assert_null(strstr(ids.buf, marked));
            strbuf_addstr(&ids, marked);
            json_each (result, json_get(next, "content"))
                answered |= strcmp(json_str(json_get(result, "tool_use_id"), ""), id) == 0;
            assert_true(answered);
            calls++;
        }
    }
    assert_string_equal(role, "user");
    return calls;
}

/* No two answers in a row, and each call has its result right behind it. */
static size_t check_openai(const struct json *messages)
{
    CLEANUP(strbuf) struct strbuf ids = STRBUF_INIT;
    const char *role = "";
    size_t calls = 0;
    for (size_t i = 0; json_at(messages, i); i++) {
        const struct json *message = json_at(messages, i);
        const char *now = json_str(json_get(message, "role"), "");
        assert_false(strcmp(now, "assistant") == 0 && strcmp(role, "assistant") == 0);
        assert_false(strcmp(now, "user") == 0 && strcmp(role, "tool") == 0); /* some templates refuse it */
        role = now;
        size_t behind = i;
        json_each (call, json_get(message, "tool_calls")) {
            const char *id = json_str(json_get(call, "id"), "");
            const struct json *result = json_at(messages, ++behind);
            CLEANUP(free) char *marked = xasprintf("<%s>", id);
            assert_null(strstr(ids.buf, marked));
            strbuf_addstr(&ids, marked);
            assert_string_equal(json_str(json_get(result, "role"), ""), "tool");
            assert_string_equal(json_str(json_get(result, "tool_call_id"), ""), id);
            calls++;
        }
    }
    assert_string_equal(role, "user");
    return calls;
}

static void check(const struct talk *talk, const char *body)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *request = json_parse(&arena, body, strlen(body), NULL);
    assert_non_null(request);
    bool openai = strcmp(talk->dialect, "openai") == 0;
    size_t calls = (openai ? check_openai : check_anthropic)(json_get(request, "messages"));
    assert_int_equal(calls, openai ? 4 : 2);
    assert_non_null(strstr(body, openai ? "text of a" : "text of b"));
    assert_non_null(strstr(body, "It is half\\n\\n[interrupted: the user canceled the turn]"));
}

static void later_turn(const char *dialect)
{
    struct talk talk;
    size_t len;
    talk_begin(&talk, dialect);
    converse(&talk);
    CLEANUP(free) char *journal = scratch_read(&talk.rig.scratch, "s.jsonl", &len);
    serve(&talk, "text");
    turn_rig_turn(&talk.rig, "go on");
    CLEANUP(free) char *sent = model_server_body(talk.server);
    check(&talk, sent);
    bool opaque = strstr(sent, "sig+/=") != NULL;
    assert_int_equal(opaque, strcmp(dialect, "anthropic") == 0);
    assert_null(strstr(sent, "reasoning_content")); /* of a loop that is over */

    open_again(&talk, journal, len);
    turn_rig_turn(&talk.rig, "go on");
    CLEANUP(free) char *again = model_server_body(talk.server);
    assert_string_equal(again, sent);

    struct provider *other = live(&talk, "other");
    talk.rig.config.provider = other;
    open_again(&talk, journal, len);
    turn_rig_turn(&talk.rig, "go on");
    CLEANUP(free) char *elsewhere = model_server_body(talk.server);
    check(&talk, elsewhere);
    assert_null(strstr(elsewhere, "sig+/="));
    engine_free(steal(&talk.rig.engine));
    provider_free(other);
    talk_end(&talk);
}

TEST(later_turn_of_anthropic_has_the_earlier_ones_live_and_resumed)
{
    later_turn("anthropic");
}

TEST(later_turn_of_openai_has_the_earlier_ones_live_and_resumed)
{
    later_turn("openai");
}

/* ---- a fork in a later turn ---- */

static char *messages_text(const struct message_list *messages)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event = {.type = EVENT_TURN_PREPARED,
                          .turn_prepared = {.messages = message_list_to_event(&arena, messages)}};
    return xstrdup(event_json(&event, "messages"));
}

static void two_turns(struct turn_rig *rig)
{
    for (int turn = 0; turn < 2; turn++) {
        struct fake_answer *answer = fake_provider_answer(rig->model);
        answer->text = "I look.";
        fake_answer_call(answer, "x", "read_file", "{\"path\":\"a\"}");
        answer->opaque = "{\"kept\":1}";
        fake_provider_answer(rig->model)->text = "seen";
    }
}

TEST(fork_in_a_later_turn_sends_what_the_live_session_sent)
{
    struct turn_rig rig;
    struct err err = ERR_INIT;
    char *asked[4];
    size_t compared = 0, len;
    turn_rig_init(&rig);
    turn_rig_file(&rig, "a", "text");
    CLEANUP(free) char *path = scratch_path(&rig.scratch, "s.jsonl");
    struct journal *journal = journal_create(path, &rig.clock.base, &err);
    rig.engine = engine_new(&rig.config, journal, &rig.sink, &err);
    assert_non_null(rig.engine);
    two_turns(&rig);
    turn_rig_turn(&rig, "first");
    turn_rig_turn(&rig, "second");
    for (size_t i = 0; i < COUNT_OF(asked); i++)
        asked[i] = messages_text(&rig.model->requests[i].messages);
    engine_free(steal(&rig.engine));
    CLEANUP(free) char *bytes = scratch_read(&rig.scratch, "s.jsonl", &len);
    size_t requested = 0;
    for (const char *at = bytes, *end; (end = memchr(at, '\n', len - (size_t)(at - bytes))); at = end + 1) {
        bool is_request = memmem(at, (size_t)(end - at), "\"model.requested\"", 17) != NULL;
        if (!is_request || ++requested < 3)
            continue;
        scratch_write_bytes(&rig.scratch, "s.jsonl", bytes, (size_t)(end + 1 - bytes));
        struct journal_reader *reader = journal_open(path, &err);
        rig.engine = engine_resume(&rig.config, journal_resume(path, &rig.clock.base, &err), reader, &rig.sink, &err);
        assert_non_null(rig.engine);
        journal_reader_free(reader);
        size_t before = rig.model->request_count;
        turn_check_do(&rig, INTENT_RESUME_TURN);
        CLEANUP(free) char *now = messages_text(&rig.model->requests[before].messages);
        assert_string_equal(now, asked[requested - 1]);
        assert_non_null(strstr(now, "{\"kept\":1}"));
        compared++;
        engine_free(steal(&rig.engine));
    }
    assert_int_equal(compared, 2);
    for (size_t i = 0; i < COUNT_OF(asked); i++)
        free(asked[i]);
    turn_rig_release(&rig);
}

TEST(turn_that_a_recording_left_is_told_to_the_next_prompt)
{
    static const char recorded[] =
        "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"s\"}\n"
        "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"look\"}\n"
        "{\"seq\":3,\"t\":0,\"turn\":1,\"type\":\"model.responded\",\"step\":1,\"tool_calls\":["
        "{\"id\":\"r\",\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}]}\n";
    struct turn_rig rig;
    struct err err = ERR_INIT;
    turn_rig_init(&rig);
    scratch_write(&rig.scratch, "s.jsonl", recorded);
    CLEANUP(free) char *path = scratch_path(&rig.scratch, "s.jsonl");
    struct journal_reader *reader = journal_open(path, &err);
    rig.engine = engine_resume(&rig.config, journal_resume(path, &rig.clock.base, &err), reader, &rig.sink, &err);
    assert_non_null(rig.engine);
    journal_reader_free(reader);
    turn_rig_turn(&rig, "something else");
    const struct message *items = rig.model->requests[0].messages.items;
    assert_string_equal(items[2].text, "look");
    assert_string_equal(items[3].calls[0].id, "r");
    assert_string_equal(items[4].text, "no outcome: the recording ended here");
    assert_string_equal(items[5].text, "[no answer: the session stopped here]");
    turn_rig_release(&rig);
}
