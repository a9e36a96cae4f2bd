/* Tests every state of a question about a write: cancel, unexpected answers and expiry in each. Every call has one
 * outcome, no file is partly written, and every remaining checkpoint is named by an event. The table at the head of
 * core/turn/write.c lists the states. */

#include "base/mem.h"
#include "support/answers.h"
#include "support/fake_tools.h"
#include "support/test.h"
#include "support/turn_check.h"
#include "support/write_door.h"
#include "turn/turn.h"

static const char before[] = "one\ntwo\n";
static const char after[] = "one\nTWO\n";
static const char theirs[] = "theirs\n";

/* A turn with one write of a.txt, by a tool with a proposal or by a tool that writes itself. */
struct scene {
    struct turn_rig rig;
    struct fake_tool own;
    bool tool_writes;
    enum question_state state; /* the state in which `act` is called, once */
    void (*act)(struct scene *scene);
    bool open_late;               /* held work continues only when the turn is over */
    bool clock_runs_while_asking; /* see bounded.h: the only way in which a call ends without a cancel */
    bool acted;
};

static struct scene *scene_of(struct turn_rig *rig)
{
    return CONTAINER_OF(rig, struct scene, rig);
}

static struct question *question_of(struct scene *scene)
{
    struct question *question = scene->rig.engine->turn->question;
    assert_non_null(question);
    return question;
}

static void act(void *rig)
{
    struct scene *scene = scene_of(rig);
    assert_false(scene->acted);
    assert_int_equal(question_of(scene)->state, scene->state);
    scene->acted = true;
    scene->act(scene);
    if (!scene->open_late)
        door_open(NULL);
}

/* Approves, so that the next step can be held; denies a second question. */
static void answer(struct turn_rig *rig, const struct question *question)
{
    struct scene *scene = scene_of(rig);
    bool again = scene->acted || rig->questions > 1;
    struct intent intent = again ? answer_no(question, NULL) : answer_yes(question);
    if (!again && scene->state == Q_CHECKING)
        door_shut(rig, AT_SAVING, act);
    if (!again && scene->state == Q_COMMITTING && !scene->tool_writes)
        door_shut(rig, AT_COMMITTING, act);
    if (!again && scene->state == Q_RUNNING)
        turn_rig_file(rig, "a.txt", theirs);
    turn_rig_submit(rig, &intent);
}

static void act_late(struct loop_timer *timer)
{
    act(CONTAINER_OF(timer, struct turn_rig, stop_timer));
}

static void scene_begin(struct scene *scene)
{
    struct turn_rig *rig = &scene->rig;
    turn_rig_init(rig);
    rig->config.interactive = true;
    rig->config.limits.wall_s = 600;
    rig->config.clock_runs_while_asking = scene->clock_runs_while_asking;
    fake_tool_init(&scene->own, "own", EFFECT_LOCAL_WRITE);
    scene->own.asks = FAKE_PROPOSES;
    scene->own.path = "a.txt";
    scene->own.text = after;
    scene->own.takes_ms = 1000;
    scene->own.confirmed_ms = 1000;
    turn_rig_add_tool(rig, &scene->own.tool);
    turn_rig_open(rig);
    turn_rig_file(rig, "a.txt", before);
    fake_answer_call(fake_provider_answer(rig->model), "w", scene->tool_writes ? "own" : "write_file",
                     "{\"path\":\"a.txt\",\"content\":\"one\\nTWO\\n\"}");
    rig->answer = scene->state == Q_OPEN ? NULL : answer;
    door_shut(rig, scene->state == Q_DIFFING ? AT_COMPARING : NOWHERE, act);
    if (scene->open_late)
        engine_on_turn_end(rig->engine, door_open, NULL);
    if (scene->state == Q_GATE)
        turn_rig_submit(rig, &(struct intent){.type = INTENT_BREAK, .breakpoint = {.spec = "gate=write"}});
    /* A tool that writes itself takes a second: 0…1 it proposes, 1…2 it writes or proposes again. */
    if (scene->state == Q_RUNNING || (scene->state == Q_COMMITTING && scene->tool_writes))
        loop_timer_start(rig->loop, &rig->stop_timer, loop_now_us(rig->loop) + 1500000, act_late);
}

static void scene_run(struct scene *scene)
{
    struct turn_rig *rig = &scene->rig;
    bool held = scene->state == Q_DIFFING || scene->state == Q_CHECKING ||
                (scene->state == Q_COMMITTING && !scene->tool_writes);
    scene_begin(scene);
    turn_rig_turn(rig, "write");
    if (scene->state == Q_GATE || scene->state == Q_OPEN) {
        act(rig);
        rig->answer = answer;
        turn_rig_run(rig);
    }
    assert_true(scene->acted);
    assert_int_equal(door.passed, held ? 1 : 0);
}

static void scene_end(struct scene *scene, const char *content)
{
    CLEANUP(free) char *found = turn_rig_read(&scene->rig, "a.txt");
    CLEANUP(free) char *names = scratch_list(&scene->rig.scratch, "work");
    assert_string_equal(found, content);
    assert_string_equal(names, "a.txt");
    assert_null(engine_question(scene->rig.engine));
    turn_check_end(&scene->rig);
    fake_tool_release(&scene->own);
}

static bool is_possible(const struct scene *scene)
{
    return scene->state != Q_RUNNING || scene->tool_writes; /* the other job is back before anything can act */
}

/* ---- the turn is canceled ---- */

static void cancel(struct scene *scene)
{
    turn_rig_submit(&scene->rig, &(struct intent){.type = INTENT_CANCEL});
}

static void check_cancelled(enum question_state state, bool tool_writes, bool open_late)
{
    struct scene scene = {.state = state, .act = cancel, .tool_writes = tool_writes, .open_late = open_late};
    struct turn_rig *rig = &scene.rig;
    bool committing = state == Q_COMMITTING, decided = state != Q_DIFFING;
    if (!is_possible(&scene) || (committing && open_late)) /* the commit is pending */
        return;
    scene_run(&scene);
    assert_string_equal(turn_check_finished(rig)->status, "cancelled");
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_PROPOSED), decided);
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_DECIDED), decided);
    const struct event *decision = turn_rig_event(rig, EVENT_WRITE_DECIDED, 0);
    if (decision)
        assert_string_equal(decision->write_decided.decision,
                            state == Q_GATE || state == Q_OPEN ? "denied" : "approved");
    assert_int_equal(turn_rig_count(rig, EVENT_CHECKPOINT_SAVED), committing);
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_APPLIED), committing);
    assert_string_equal(turn_check_outcome(rig, "w"), committing ? "result"
                                                      : state == Q_CHECKING || state == Q_RUNNING
                                                          ? "failure"
                                                          : "denied:write_denied");
    scene_end(&scene, committing ? after : state == Q_RUNNING ? theirs : before);
}

TEST(a_turn_that_is_canceled_in_any_state_leaves_nothing_half_done)
{
    static const enum question_state states[] = {Q_DIFFING, Q_GATE, Q_OPEN, Q_CHECKING, Q_COMMITTING, Q_RUNNING};
    for (size_t i = 0; i < COUNT_OF(states); i++)
        for (int way = 0; way < 4; way++)
            check_cancelled(states[i], way % 2, way / 2);
}

/* ---- unexpected answers ---- */

static void check_refused(struct scene *scene)
{
    static const char closed[] = "this question is no longer open";
    const struct question *question = question_of(scene);
    struct intent yes = answer_yes(question), no = answer_no(question, "no"), other = yes;
    other.answer.question = "a99";
    if (scene->state == Q_OPEN) {
        assert_string_equal(turn_check_submit(&scene->rig, &other), closed);
        other = yes;
        other.answer.digest = "0000";
        assert_string_equal(turn_check_submit(&scene->rig, &other), "the question has changed; read it again");
        other.answer.digest = NULL;
        assert_string_equal(turn_check_submit(&scene->rig, &other), "the question has changed; read it again");
        other = yes;
        other.answer.decision.kind = DECISION_NONE;
        assert_string_equal(turn_check_submit(&scene->rig, &other), "invalid decision");
        other = yes;
        other.answer.decision.without_undo = true;
        assert_string_equal(turn_check_submit(&scene->rig, &other), "this write can be undone; approve it normally");
        assert_string_equal(turn_check_submit(&scene->rig, &no), ""); /* this answer is accepted */
        assert_string_equal(turn_check_submit(&scene->rig, &yes), closed);
        return;
    }
    assert_null(engine_question(scene->rig.engine));
    assert_string_equal(turn_check_submit(&scene->rig, &yes), closed);
    assert_string_equal(turn_check_submit(&scene->rig, &no), closed);
    assert_string_equal(turn_check_submit(&scene->rig, &other), closed);
    assert_string_equal(turn_check_submit(&scene->rig, &(struct intent){.type = INTENT_TOUCH}),
                        "no write is waiting for approval");
    assert_int_equal(question_of(scene)->state, scene->state);
    if (scene->state == Q_GATE)
        turn_rig_submit(&scene->rig, &(struct intent){.type = INTENT_CONTINUE});
}

static void check_answers(enum question_state state, bool tool_writes)
{
    struct scene scene = {.state = state, .act = check_refused, .tool_writes = tool_writes};
    struct turn_rig *rig = &scene.rig;
    bool written = state == Q_CHECKING || state == Q_COMMITTING;
    size_t decisions = state == Q_RUNNING ? 2 : 1;
    if (!is_possible(&scene))
        return;
    scene_run(&scene);
    assert_string_equal(turn_check_finished(rig)->status, "done");
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_PROPOSED), decisions);
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_DECIDED), decisions);
    assert_int_equal(turn_rig_count(rig, EVENT_WRITE_APPLIED), written);
    assert_string_equal(turn_check_outcome(rig, "w"), written ? "result" : "denied:write_denied");
    scene_end(&scene, written ? after : state == Q_RUNNING ? theirs : before);
}

TEST(answers_are_accepted_only_while_a_question_is_open)
{
    static const enum question_state states[] = {Q_DIFFING, Q_GATE, Q_OPEN, Q_CHECKING, Q_COMMITTING, Q_RUNNING};
    for (size_t i = 0; i < COUNT_OF(states); i++)
        for (int tool_writes = 0; tool_writes < 2; tool_writes++)
            check_answers(states[i], tool_writes);
}

/* ---- the call is settled by its time ---- */

/* More time than the call has, less than the turn has. Virtual time does not advance while a pool thread is out. */
static void let_time_pass(struct scene *scene)
{
    fake_clock_advance(&scene->rig.clock, (int64_t)100 * 1000000);
}

/* The clocks stop while files are compared or the question is open: the time is charged to neither. */
TEST(time_to_compute_the_diff_is_not_charged)
{
    struct scene scene = {.state = Q_DIFFING, .act = let_time_pass};
    scene_run(&scene);
    assert_string_equal(turn_check_finished(&scene.rig)->status, "done");
    assert_int_equal(turn_check_finished(&scene.rig)->elapsed_ms, 0);
    assert_int_equal(turn_check_finished(&scene.rig)->waited_ms, 0);
    assert_string_equal(turn_check_outcome(&scene.rig, "w"),
                        "denied:write_denied"); /* settled by the answer to its question */
    scene_end(&scene, before);
}

/* The call times out, at once or when the job is back; a checkpoint made after that is removed. */
TEST(a_call_whose_time_ends_while_it_is_checked_is_a_timeout)
{
    for (int open_late = 0; open_late < 2; open_late++)
        for (int tool_writes = 0; tool_writes < 2; tool_writes++) {
            struct scene scene = {
                .state = Q_CHECKING, .act = let_time_pass, .tool_writes = tool_writes, .open_late = open_late};
            scene_run(&scene);
            if (open_late)
                assert_string_equal(turn_check_outcome(&scene.rig, "w"), "timeout");
            bool written = strcmp(turn_check_outcome(&scene.rig, "w"), "result") == 0;
            assert_int_equal(turn_rig_count(&scene.rig, EVENT_WRITE_APPLIED), written);
            assert_int_equal(turn_rig_count(&scene.rig, EVENT_CHECKPOINT_SAVED), written);
            scene_end(&scene, written ? after : before);
        }
}

/* Before the question is open the journal has nothing to answer. */
TEST(a_call_that_ends_during_the_diff_opens_no_question)
{
    struct scene scene = {.state = Q_DIFFING, .act = let_time_pass, .open_late = true, .clock_runs_while_asking = true};
    scene_run(&scene);
    assert_string_equal(turn_check_outcome(&scene.rig, "w"), "timeout");
    assert_int_equal(turn_rig_count(&scene.rig, EVENT_WRITE_PROPOSED), 0);
    assert_int_equal(turn_rig_count(&scene.rig, EVENT_WRITE_DECIDED), 0);
    scene_end(&scene, before);
}

TEST(a_question_whose_call_ends_expires_with_it)
{
    struct scene scene = {.state = Q_OPEN, .clock_runs_while_asking = true};
    scene_begin(&scene);
    turn_rig_turn(&scene.rig, "write");
    assert_string_equal(turn_check_outcome(&scene.rig, "w"), "timeout");
    assert_int_equal(turn_rig_count(&scene.rig, EVENT_WRITE_DECIDED), 1);
    const struct event_write_decided *decided = &turn_rig_event(&scene.rig, EVENT_WRITE_DECIDED, 0)->write_decided;
    assert_string_equal(decided->decision, "expired");
    assert_string_equal(decided->by, "timeout");
    assert_string_equal(decided->reason, "the call ended before it was answered");
    assert_string_equal(turn_check_finished(&scene.rig)->status, "done");
    scene_end(&scene, before);
}

TEST(a_commit_outlives_the_time_of_its_call)
{
    struct scene scene = {.state = Q_COMMITTING, .act = let_time_pass};
    scene_run(&scene);
    assert_string_equal(turn_check_outcome(&scene.rig, "w"), "result");
    assert_int_equal(turn_rig_count(&scene.rig, EVENT_WRITE_APPLIED), 1);
    scene_end(&scene, after);
}

/* ---- two calls of one wave ---- */

/* Tools that claim to read only, and then ask for confirmation. */
static void run_two(int64_t first_ms, int64_t second_ms, int64_t answer_us, const char *story)
{
    struct turn_rig rig;
    struct fake_tool first, second;
    turn_rig_init(&rig);
    fake_tool_init(&first, "first", EFFECT_READ_ONLY);
    fake_tool_init(&second, "second", EFFECT_READ_ONLY);
    first.asks = second.asks = FAKE_ASKS_FIELD;
    first.takes_ms = first_ms;
    second.takes_ms = second_ms;
    first.confirmed_ms = second.confirmed_ms = 1000;
    turn_rig_add_tool(&rig, &first.tool);
    turn_rig_add_tool(&rig, &second.tool);
    turn_rig_open(&rig);
    rig.answer = turn_rig_say_yes;
    rig.answer_after_us = answer_us;
    struct fake_answer *a = fake_provider_answer(rig.model);
    fake_answer_call(a, "1", "first", "{}");
    fake_answer_call(a, "2", "second", "{}");
    turn_rig_turn(&rig, "go");
    CLEANUP(free)
    char *got = xasprintf("%s %s", turn_check_outcome(&rig, "1"), turn_check_outcome(&rig, "2"));
    assert_string_equal(got, story);
    if (strstr(story, "denied"))
        assert_non_null(strstr(turn_check_message(&rig, first_ms <= second_ms ? "2" : "1"),
                               "another write is waiting; call again after it"));
    assert_int_equal(first.confirmed + second.confirmed, strstr(story, "denied") ? 1 : 2);
    assert_string_equal(turn_check_finished(&rig)->status, "done");
    turn_check_end(&rig);
    fake_tool_release(&first);
    fake_tool_release(&second);
}

TEST(second_foreign_question_of_a_wave_is_denied)
{
    run_two(100, 100, 0, "result denied:write_denied");
    run_two(100, 100, 5000000, "result denied:write_denied");
    run_two(100, 600, 5000000, "result denied:write_denied"); /* while the first question is open */
    run_two(100, 600, 0, "result denied:write_denied");       /* while the first one writes */
    run_two(600, 100, 0, "denied:write_denied result");
    run_two(100, 2000, 0, "result result"); /* one after the other */
}

/* ---- a version of the user's ---- */

static struct change_set *make_version(const struct question *question, const char *text)
{
    struct change_set *version = change_set_copy(question->changes);
    change_side_set(&version->items[0].new, text, strlen(text), 0644);
    return version;
}

static const char *revise(struct turn_rig *rig, const struct question *question, const char *text)
{
    struct change_set *version = make_version(question, text);
    const char *refusal = turn_check_submit(
        rig, &(struct intent){.type = INTENT_REVISE, .revise = {.question = question->id, .version = version}});
    change_set_free(version);
    return refusal;
}

static void check_not_revised(struct scene *scene)
{
    assert_string_equal(revise(&scene->rig, question_of(scene), "mine\n"), "this question is no longer open");
    if (scene->state == Q_GATE)
        turn_rig_submit(&scene->rig, &(struct intent){.type = INTENT_CONTINUE});
}

TEST(only_an_open_question_can_be_revised)
{
    static const enum question_state states[] = {Q_GATE, Q_CHECKING, Q_COMMITTING, Q_RUNNING};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct scene scene = {.state = states[i], .act = check_not_revised, .tool_writes = true};
        bool written = states[i] == Q_CHECKING || states[i] == Q_COMMITTING;
        scene_run(&scene);
        scene_end(&scene, written ? after : states[i] == Q_RUNNING ? theirs : before);
    }
}

static enum decision_kind chosen; /* while the version is compared */

/* The user's version is on the pool: an approval before its diff was shown is refused, a denial is accepted. */
static void decide_while_comparing(void *data)
{
    struct turn_rig *rig = data;
    const struct question *question = engine_question(rig->engine);
    struct intent yes = answer_yes(question), no = answer_no(question, NULL);
    assert_int_equal(question->revising, 1);
    assert_null(question->revised);
    assert_string_equal(turn_check_submit(rig, &yes),
                        "comparing your version; press the key again when the diff is shown");
    assert_string_equal(revise(rig, question, "another\n"),
                        "comparing your version; press the key again when the diff is shown");
    if (chosen == DECISION_DENIED)
        assert_string_equal(turn_check_submit(rig, &no), "");
    else if (chosen == DECISION_NONE)
        turn_rig_submit(rig, &(struct intent){.type = INTENT_CANCEL});
    door_open(NULL);
}

TEST(nothing_is_approved_while_a_version_is_compared)
{
    static const enum decision_kind choices[] = {DECISION_EDITED, DECISION_DENIED, DECISION_NONE};
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        struct scene scene = {.state = Q_OPEN};
        struct turn_rig *rig = &scene.rig;
        scene_begin(&scene);
        turn_rig_turn(rig, "write");
        chosen = choices[i];
        door_shut(rig, AT_COMPARING, decide_while_comparing);
        assert_string_equal(revise(rig, engine_question(rig->engine), "mine\n"), "");
        turn_rig_run(rig);
        assert_int_equal(door.passed, 1);
        if (chosen != DECISION_EDITED) {
            assert_string_equal(turn_check_outcome(rig, "w"), "denied:write_denied");
            scene_end(&scene, before);
            continue;
        }
        const struct question *question = engine_question(rig->engine);
        assert_int_equal(question->revising, 0);
        assert_int_equal(question->revision, 1);
        assert_string_equal(question->revised->items[0].new.bytes, "mine\n");
        assert_non_null(question->revised_diffs[0]);
        struct intent mine = answer_edited(question, question->revised);
        turn_rig_submit(rig, &mine);
        turn_rig_run(rig);
        assert_string_equal(turn_rig_event(rig, EVENT_WRITE_DECIDED, 0)->write_decided.decision, "edited");
        scene_end(&scene, "mine\n");
    }
}
