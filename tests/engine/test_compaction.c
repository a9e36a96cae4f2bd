/* Long turns near their context ceiling: what is sent, what the journal holds, and what a recording rebuilds from it.
 */

#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event/journal.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/test.h"
#include "support/turn_check.h"
#include "turn/compaction.h"
#include <string.h>
#include <sys/stat.h>

#define STEPS        500
#define CEILING      12000
#define RESULT_LINES 40

struct long_turn {
    struct turn_rig rig;
    struct fake_tool tool;
    char *output, *journal;
};

static void long_turn_init(struct long_turn *turn)
{
    struct strbuf text = STRBUF_INIT;
    turn_rig_init(&turn->rig);
    strbuf_addstr(&text, "{\"lines\":[");
    for (int i = 0; i < RESULT_LINES; i++)
        strbuf_addf(&text, "%s\"this is line number %d of a long file\"", i ? "," : "", i);
    strbuf_addstr(&text, "]}");
    turn->output = strbuf_detach(&text, NULL);
    fake_tool_init(&turn->tool, "look", EFFECT_READ_ONLY);
    turn->tool.output = turn->output;
    turn_rig_add_tool(&turn->rig, &turn->tool.tool);
    turn->rig.config.limits.context_tokens = CEILING;
    turn->rig.config.limits.steps = STEPS + 1;
    turn->rig.config.limits.tool_calls = 2 * STEPS;
    turn->journal = scratch_path(&turn->rig.scratch, "s.jsonl");
}

/* Some answers speak, some have two calls, and the arguments have white space, which a recording does not keep. */
static void long_turn_answers(struct long_turn *turn, int steps)
{
    for (int i = 1; i <= steps; i++) {
        struct fake_answer *answer = fake_provider_answer(turn->rig.model);
        CLEANUP(free) char *arguments = xasprintf("{ \"n\" : %d }", i);
        answer->text = i % 3 ? NULL : "I look.";
        fake_answer_call(answer, NULL, "look", arguments);
        if (i % 5 == 0)
            fake_answer_call(answer, NULL, "look", "{\"again\": true}");
    }
    fake_provider_answer(turn->rig.model)->text = "seen";
}

static void long_turn_end(struct long_turn *turn)
{
    turn_check_end(&turn->rig);
    fake_tool_release(&turn->tool);
    free(turn->output);
    free(turn->journal);
}

static int64_t tools_tokens(const struct long_turn *turn)
{
    const struct registry *registry = turn->rig.config.registry;
    size_t bytes = 0;
    for (size_t i = 0; i < registry_count(registry); i++) {
        const struct tool_spec *spec = &registry_at(registry, i)->spec;
        bytes += strlen(spec->name) + (spec->description ? strlen(spec->description) : 0) +
                 (spec->parameters ? strlen(spec->parameters) : 0);
    }
    return (int64_t)bytes / 4;
}

TEST(no_request_of_a_long_turn_exceeds_the_ceiling)
{
    struct long_turn turn;
    long_turn_init(&turn);
    turn_check_open(&turn.rig, turn.journal);
    long_turn_answers(&turn, STEPS);
    turn_rig_turn(&turn.rig, "look at all of it");
    assert_int_equal(turn.rig.model->request_count, STEPS + 1);
    for (size_t i = 0; i < turn.rig.model->request_count; i++) {
        int64_t tokens = compaction_tokens(&turn.rig.model->requests[i].messages, 0) + tools_tokens(&turn);
        if (tokens > CEILING)
            fail_msg("request %zu has %lld tokens", i + 1, (long long)tokens);
    }
    long_turn_end(&turn);
}

TEST(each_compaction_reaches_its_target_and_gains_a_fifth)
{
    struct long_turn turn;
    long_turn_init(&turn);
    turn_check_open(&turn.rig, turn.journal);
    long_turn_answers(&turn, STEPS);
    turn_rig_turn(&turn.rig, "look at all of it");
    size_t count = turn_rig_count(&turn.rig, EVENT_CONTEXT_COMPACTED);
    int64_t last = -10;
    assert_true(count > 20);
    for (size_t i = 0; i < count; i++) {
        const struct event_context_compacted *event =
            &turn_rig_event(&turn.rig, EVENT_CONTEXT_COMPACTED, i)->context_compacted;
        assert_true(event->after <= CEILING / 2);
        assert_true(event->before - event->after >= event->before / 5);
        assert_true(event->step > last + 1);
        last = event->step;
    }
    long_turn_end(&turn);
}

TEST(journal_of_a_long_turn_holds_each_result_once)
{
    struct long_turn turn;
    struct stat st;
    long_turn_init(&turn);
    turn_check_open(&turn.rig, turn.journal);
    long_turn_answers(&turn, STEPS);
    turn_rig_turn(&turn.rig, "look at all of it");
    assert_int_equal(stat(turn.journal, &st), 0);
    size_t results = turn_rig_count(&turn.rig, EVENT_TOOL_FINISHED);
    assert_true((size_t)st.st_size < results * (strlen(turn.output) + 2500));
    for (size_t i = 0; i < turn_rig_count(&turn.rig, EVENT_CONTEXT_COMPACTED); i++)
        assert_true(strlen(turn_rig_event(&turn.rig, EVENT_CONTEXT_COMPACTED, i)->raw) < 1000);
    long_turn_end(&turn);
}

/* ---- recordings ---- */

static char *messages_text(const struct message_list *messages)
{
    struct strbuf text = STRBUF_INIT;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event = {.type = EVENT_TURN_PREPARED,
                          .turn_prepared = {.messages = message_list_to_event(&arena, messages)}};
    strbuf_addstr(&text, event_json(&event, "messages"));
    return strbuf_detach(&text, NULL);
}

/* Left right after this line of the recording: the next request is the one that was made then. */
static void continues_with(const char *bytes, size_t line, const struct message_list *messages)
{
    struct long_turn again;
    struct err err = ERR_INIT;
    size_t len;
    CLEANUP(free) char *was = messages_text(messages);
    struct journal_reader *reader = journal_open_bytes(bytes, strlen(bytes), &err);
    const char *end = journal_line(reader, line, &len);
    len = (size_t)(end - bytes) + len + 1;
    long_turn_init(&again);
    scratch_write_bytes(&again.rig.scratch, "s.jsonl", bytes, len);
    journal_reader_free(reader);
    reader = journal_open(again.journal, &err);
    struct journal *journal = journal_resume(again.journal, &again.rig.clock.base, &err);
    assert_non_null(journal);
    again.rig.engine = engine_resume(&again.rig.config, journal, reader, &again.rig.sink, &err);
    assert_non_null(again.rig.engine);
    journal_reader_free(reader);
    fake_provider_answer(again.rig.model)->text = "seen";
    turn_rig_submit(&again.rig, &(struct intent){.type = INTENT_RESUME_TURN});
    turn_rig_run(&again.rig);
    CLEANUP(free) char *is = messages_text(&again.rig.model->requests[0].messages);
    assert_string_equal(is, was);
    assert_int_equal(turn_rig_count(&again.rig, EVENT_CONTEXT_COMPACTED), 0); /* not once more */
    turn_rig_release(&again.rig);
    fake_tool_release(&again.tool);
    free(again.output);
    free(again.journal);
}

TEST(recording_continues_with_the_same_messages_after_any_compaction)
{
    struct long_turn turn;
    size_t len, compacted = 0;
    long_turn_init(&turn);
    turn_check_open(&turn.rig, turn.journal);
    long_turn_answers(&turn, 60);
    turn_rig_turn(&turn.rig, "look at all of it");
    CLEANUP(free) char *bytes = scratch_read(&turn.rig.scratch, "s.jsonl", &len);
    for (size_t i = 0; i < turn.rig.event_count; i++) {
        const struct event *event = &turn.rig.events[i];
        if (event->type != EVENT_CONTEXT_COMPACTED)
            continue;
        size_t step = (size_t)event->context_compacted.step;
        continues_with(bytes, i, &turn.rig.model->requests[step - 1].messages);
        compacted++;
    }
    assert_true(compacted > 4);
    long_turn_end(&turn);
}

/* Before the rules had a version, the event held the messages. */
TEST(older_recording_continues_with_the_messages_of_its_event)
{
    static const char recorded[] =
        "{\"seq\":1,\"t\":0,\"turn\":0,\"type\":\"session.started\",\"v\":1,\"session\":\"s\"}\n"
        "{\"seq\":2,\"t\":0,\"turn\":1,\"type\":\"turn.started\",\"prompt\":\"p\"}\n"
        "{\"seq\":3,\"t\":0,\"turn\":1,\"type\":\"turn.prepared\",\"messages\":[{\"role\":\"user\",\"text\":\"p\"}],"
        "\"tools\":[\"look\"]}\n"
        "{\"seq\":4,\"t\":0,\"turn\":1,\"type\":\"context.compacted\",\"step\":1,\"before\":9,\"after\":5,\"how\":\"1 "
        "tool result "
        "shortened\",\"messages\":[{\"role\":\"system\",\"text\":\"digest\"},{\"role\":\"user\",\"text\":\"p\"}"
        "]}\n";
    struct message_list messages;
    message_list_init(&messages);
    message_list_add(&messages, ROLE_SYSTEM, "digest");
    message_list_add(&messages, ROLE_USER, "p");
    continues_with(recorded, 3, &messages);
    message_list_release(&messages);
}
