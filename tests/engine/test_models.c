/* Tests changing the model in the middle of a session: the next request goes to the new model with the full
 * conversation, the journal records the change, and a resumed session uses the same model. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/event_json.h"
#include "support/fake_tools.h"
#include "support/test.h"
#include "support/turn_check.h"

struct stage {
    struct turn_rig rig;
    struct fake_tool tool;
    struct model_source source;
    struct fake_provider *other; /* the newest that was opened */
    int opened;
    const char *text; /* text of its answers */
};

static struct provider *open_other(struct model_source *source, const char *name, struct err *err)
{
    struct stage *stage = CONTAINER_OF(source, struct stage, source);
    if (strcmp(name, "other") != 0 && strcmp(name, "first") != 0) {
        err_set(err, "there is no model \"%s\" (did you mean other?)", name);
        return NULL;
    }
    stage->opened++;
    stage->other = fake_provider_new(stage->rig.loop);
    if (strcmp(name, "other") == 0)
        stage->other->name = "fake-2";
    fake_provider_answer(stage->other)->text = stage->text;
    return &stage->other->base;
}

static void stage_init(struct stage *stage)
{
    *stage = (struct stage){.source = {open_other}, .text = "I am another."};
    turn_rig_init(&stage->rig);
    fake_tool_init(&stage->tool, "look", EFFECT_READ_ONLY);
    turn_rig_add_tool(&stage->rig, &stage->tool.tool);
    stage->rig.config.models = &stage->source;
    stage->rig.config.model_name = "first";
}

static void stage_end(struct stage *stage)
{
    turn_check_end(&stage->rig);
    fake_tool_release(&stage->tool);
}

static const char *change(struct stage *stage, const char *name)
{
    return turn_check_submit(&stage->rig, &(struct intent){.type = INTENT_MODEL, .model = {name}});
}

TEST(next_turn_sends_the_conversation_to_the_new_model)
{
    struct stage stage;
    stage_init(&stage);
    turn_rig_open(&stage.rig);
    fake_provider_answer(stage.rig.model)->text = "I am the first.";
    turn_rig_turn(&stage.rig, "who are you");
    assert_string_equal(change(&stage, "other"), "");
    const struct event_model_changed *changed = &turn_rig_event(&stage.rig, EVENT_MODEL_CHANGED, 0)->model_changed;
    assert_string_equal(event_body_json(EVENT_MODEL_CHANGED, changed, "model"),
                        "{\"provider\":\"fake\",\"name\":\"fake-2\",\"as\":\"other\"}");
    assert_string_equal(changed->by, "key");
    turn_rig_turn(&stage.rig, "and now");
    assert_int_equal(turn_rig_count(&stage.rig, EVENT_MODEL_CHANGED), 1);
    assert_string_equal(turn_check_finished(&stage.rig)->text, "I am another.");
    assert_int_equal(stage.rig.model->request_count, 1);
    assert_int_equal(stage.other->request_count, 1);
    assert_non_null(strstr(stage.other->requests[0].messages.items[1].text, "model: fake-2\n"));
    assert_string_equal(stage.other->requests[0].messages.items[3].text, "I am the first.");
    assert_string_equal(session_name(engine_session(stage.rig.engine), engine_session(stage.rig.engine)->model),
                        "fake-2");
    stage_end(&stage);
}

TEST(unknown_and_current_models_are_refused)
{
    struct stage stage;
    stage_init(&stage);
    turn_rig_open(&stage.rig);
    assert_string_equal(change(&stage, "ohter"), "there is no model \"ohter\" (did you mean other?)");
    assert_string_equal(change(&stage, ""), "name a model");
    assert_string_equal(change(&stage, "first"), "already using the model first");
    assert_string_equal(change(&stage, "other"), "");
    assert_string_equal(change(&stage, "other"), "already using the model other");
    assert_string_equal(change(&stage, "first"), "");
    assert_int_equal(turn_rig_count(&stage.rig, EVENT_MODEL_CHANGED), 2);
    stage_end(&stage);

    stage_init(&stage);
    stage.rig.config.models = NULL;
    turn_rig_open(&stage.rig);
    assert_string_equal(change(&stage, "other"), "the model of this session cannot be changed");
    stage_end(&stage);
}

/* The first model may finish its answer; the next step goes to the other. */
TEST(a_change_within_a_turn_applies_to_the_next_step)
{
    struct stage stage;
    stage_init(&stage);
    turn_rig_open(&stage.rig);
    struct fake_answer *a = fake_provider_answer(stage.rig.model);
    a->takes_us = 2000000;
    fake_answer_call(a, "c1", "look", "{}");
    turn_rig_submit(&stage.rig, &(struct intent){.type = INTENT_START, .start = {"go"}});
    turn_rig_run_for(&stage.rig, 1000000);
    assert_string_equal(change(&stage, "other"), "");
    turn_rig_run(&stage.rig);
    assert_string_equal(turn_check_outcome(&stage.rig, "c1"), "result");
    assert_string_equal(turn_check_finished(&stage.rig)->text, "I am another.");
    assert_int_equal(turn_rig_event(&stage.rig, EVENT_MODEL_CHANGED, 0)->turn, 1);
    assert_int_equal(stage.rig.model->request_count, 1);
    assert_false(stage.rig.model->requests[0].cancelled);
    stage_end(&stage);
}

/* Canceled while the first model answers: the request to the first model is canceled. */
TEST(cancel_reaches_the_model_of_the_open_request)
{
    struct stage stage;
    stage_init(&stage);
    turn_rig_open(&stage.rig);
    fake_provider_answer(stage.rig.model)->takes_us = 5000000;
    turn_rig_submit(&stage.rig, &(struct intent){.type = INTENT_START, .start = {"go"}});
    turn_rig_run_for(&stage.rig, 1000000);
    assert_string_equal(change(&stage, "other"), "");
    turn_check_do(&stage.rig, INTENT_CANCEL);
    assert_string_equal(turn_check_finished(&stage.rig)->status, "cancelled");
    assert_true(stage.rig.model->requests[0].cancelled);
    stage_end(&stage);
}

static void resume(struct stage *stage, const char *bytes, size_t len)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(&stage->rig.scratch, "s.jsonl");
    scratch_write_bytes(&stage->rig.scratch, "s.jsonl", bytes, len);
    struct journal_reader *reader = journal_open(path, &err);
    struct journal *journal = journal_resume(path, &stage->rig.clock.base, &err);
    stage->rig.engine = engine_resume(&stage->rig.config, journal, reader, &stage->rig.sink, &err);
    assert_non_null(stage->rig.engine);
    journal_reader_free(reader);
}

static void release_resumed(struct stage *stage)
{
    assert_true(engine_idle(stage->rig.engine));
    engine_free(stage->rig.engine);
    stage->rig.engine = NULL;
    turn_rig_release(&stage->rig);
    fake_tool_release(&stage->tool);
}

TEST(resumed_session_keeps_the_model)
{
    struct stage first, second;
    CLEANUP(free) char *path = NULL, *bytes = NULL;
    size_t len;
    stage_init(&first);
    path = scratch_path(&first.rig.scratch, "s.jsonl");
    turn_check_open(&first.rig, path);
    assert_string_equal(change(&first, "other"), "");
    turn_rig_turn(&first.rig, "one");
    bytes = scratch_read(&first.rig.scratch, "s.jsonl", &len);
    stage_end(&first);

    stage_init(&second);
    resume(&second, bytes, len);
    turn_rig_turn(&second.rig, "two");
    assert_int_equal(second.opened, 1);
    assert_int_equal(second.rig.model->request_count, 0);
    assert_int_equal(turn_rig_count(&second.rig, EVENT_MODEL_CHANGED), 0);
    release_resumed(&second);

    /* The user named a model: the session uses it, and the journal has it. */
    stage_init(&second);
    second.rig.config.model_chosen = true;
    resume(&second, bytes, len);
    turn_rig_turn(&second.rig, "two");
    turn_rig_turn(&second.rig, "three");
    assert_int_equal(second.opened, 0);
    assert_int_equal(turn_rig_count(&second.rig, EVENT_MODEL_CHANGED), 1);
    assert_string_equal(turn_rig_event(&second.rig, EVENT_MODEL_CHANGED, 0)->model_changed.by, "resume");
    assert_string_equal(event_json(turn_rig_event(&second.rig, EVENT_MODEL_CHANGED, 0), "model"),
                        "{\"provider\":\"fake\",\"name\":\"fake-1\"}");
    release_resumed(&second);
}
