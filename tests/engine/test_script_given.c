/* Tests run_script with files of the workspace and with tools: the contents of the request, and the effect of the call.
 */

#include "support/event_json.h"
#include "support/fake_pool.h"
#include "support/script_rig.h"
#include "support/test.h"

/* ---- files of the workspace ---- */

SCRIPT_TEST(files_go_with_the_script)
{
    struct script_rig *f = *state;
    f->answers = works;
    turn_rig_open(&f->rig);
    turn_rig_file(&f->rig, "src/a.py", "x = 42\n");
    turn_rig_file(&f->rig, "src/b.txt", "no");
    run(f, "{\"script\":\"x\",\"files\":[\"src/*.py\"]}");
    assert_string_equal(outcome(f), "result");
    assert_string_equal(f->files, "[{\"path\":\"src/a.py\",\"base64\":\"eCA9IDQyCg==\"}]");
    const struct event *said = turn_rig_event(&f->rig, EVENT_TOOL_OUTPUT, 0);
    assert_string_equal(said->tool_output.text, "1 file, 7 bytes, copied for the script");
}

SCRIPT_TEST(files_that_are_not_there)
{
    struct script_rig *f = *state;
    run(f, "{\"script\":\"x\",\"files\":[\"none.py\"]}");
    assert_string_equal(error(f), "files: none.py does not exist");
    assert_int_equal(f->pool.taken, 0);
    assert_int_equal(f->pool.forgotten, 0);
}

SCRIPT_TEST(without_files_the_request_has_none)
{
    struct script_rig *f = *state;
    f->answers = works;
    run(f, "{\"script\":\"x\"}");
    assert_string_equal(f->files, "");
}

SCRIPT_TEST(an_older_harness_takes_none)
{
    struct script_rig *f = *state;
    f->pool.tools.chosen = false;
    turn_rig_open(&f->rig);
    turn_rig_file(&f->rig, "a.py", "x");
    run(f, "{\"script\":\"x\",\"files\":[\"a.py\"]}");
    assert_non_null(strstr(error(f), "the image of this sandbox is outdated"));
    assert_int_equal(f->pool.given, 1);
    assert_int_equal(f->pool.broken, 0);
}

/* ---- tools, and the effect of a call ---- */

static struct toolset_tool known[] = {
    {"look", "READ_ONLY"}, {"note", "LOCAL_WRITE"}, {"fetch", "NETWORK"}, {"burn", "DESTRUCTIVE"}, {"plain", ""}};

/* The effect of a call in the journal, with these tools. */
static const char *effect_with(struct script_rig *f, size_t count, const char *id, const char *arguments)
{
    f->answers = works;
    f->pool.tools.items = known;
    f->pool.tools.count = count;
    if (!f->rig.engine)
        turn_rig_open(&f->rig);
    fake_answer_call(fake_provider_answer(f->rig.model), id, "run_script", arguments);
    turn_rig_turn(&f->rig, "run it");
    for (size_t i = 0;; i++) {
        const struct event *event = turn_rig_event(&f->rig, EVENT_TOOL_STARTED, i);
        assert_non_null(event);
        if (strcmp(event->tool_started.call, id) == 0)
            return event->tool_started.effect;
    }
}

SCRIPT_TEST(a_call_has_the_strongest_effect_of_its_tools)
{
    static const struct {
        const char *tools, *effect;
    } cases[] = {
        {"[\"look\"]", "READ_ONLY"},
        {"[\"look\",\"note\"]", "LOCAL_WRITE"},
        {"[\"fetch\",\"look\"]", "NETWORK"},
        {"[\"burn\",\"fetch\"]", "DESTRUCTIVE"},
        {"[\"plain\",\"look\"]", "LOCAL_WRITE"}, /* one that declares nothing */
        {"[]", "LOCAL_WRITE"},                   /* a script without tools */
    };
    struct script_rig *f = *state;
    f->rig.answer = turn_rig_say_yes;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(free) char *id = xasprintf("e%zu", i);
        CLEANUP(free) char *arguments = xasprintf("{\"script\":\"x\",\"tools\":%s}", cases[i].tools);
        assert_string_equal(effect_with(f, COUNT_OF(known), id, arguments), cases[i].effect);
        assert_string_equal(f->tools, cases[i].tools);
    }
}

SCRIPT_TEST(without_a_choice_all_tools_count)
{
    struct script_rig *f = *state;
    assert_string_equal(effect_with(f, 0, "a", "{\"script\":\"1\"}"), "LOCAL_WRITE");
    assert_string_equal(effect_with(f, 1, "b", "{\"script\":\"2\"}"), "READ_ONLY");
    assert_string_equal(effect_with(f, 3, "c", "{\"script\":\"3\"}"), "NETWORK");
    assert_string_equal(f->tools, "");
    f->pool.tools.told = false; /* no harness could list the tools */
    f->pool.gave_up = true;
    assert_string_equal(effect_with(f, 0, "d", "{\"script\":\"4\"}"), "UNKNOWN");
    assert_string_equal(effect_with(f, 0, "e", "{\"script\":\"5\",\"tools\":[]}"), "LOCAL_WRITE");
}

SCRIPT_TEST(a_tool_that_is_not_there)
{
    struct script_rig *f = *state;
    f->pool.tools.items = known;
    f->pool.tools.count = 2;
    run(f, "{\"script\":\"x\",\"tools\":[\"look\",\"fetch\"]}");
    assert_string_equal(error(f), "unknown tool fetch for scripts (known: look, note)");
    assert_int_equal(f->pool.taken, 0);
}

/* ---- a script whose tools destroy ---- */

#define BURN "{\"script\":\"burn(1)\",\"tools\":[\"burn\"]}"

static void have_tools(struct script_rig *f)
{
    f->answers = works;
    f->pool.tools.items = known;
    f->pool.tools.count = COUNT_OF(known);
}

SCRIPT_TEST(destructive_tools_need_approval)
{
    struct script_rig *f = *state;
    have_tools(f);
    f->rig.answer = turn_rig_say_yes;
    run(f, BURN);
    assert_string_equal(outcome(f), "result");
    assert_int_equal(turn_rig_count(&f->rig, EVENT_WRITE_PROPOSED), 1);
    assert_int_equal(turn_rig_count(&f->rig, EVENT_WRITE_DECIDED), 1);
    assert_string_equal(f->tools, "[\"burn\"]");
    assert_int_equal(f->pool.taken, 2); /* one for the list of tools, in which nothing ran, and one to run in */
    assert_int_equal(f->pool.broken, 0);
}

SCRIPT_TEST(a_script_that_is_denied_does_not_run)
{
    struct script_rig *f = *state;
    have_tools(f);
    f->rig.answer = turn_rig_say_no;
    run(f, BURN);
    assert_string_equal(outcome(f), "denied:write_denied");
    assert_int_equal(turn_rig_count(&f->rig, EVENT_SCRIPT_EVENT), 0);
    assert_int_equal(f->pool.taken, 1);
}

/* The list of tools may need the first sandbox; the call requests it then. */
SCRIPT_TEST(tools_that_were_unknown_when_it_began)
{
    struct script_rig *f = *state;
    have_tools(f);
    f->pool.tools.told = false;
    f->pool.tells = f->pool.gave_up = true;
    f->rig.answer = turn_rig_say_no;
    run(f, BURN);
    assert_string_equal(turn_rig_event(&f->rig, EVENT_TOOL_STARTED, 0)->tool_started.effect, "UNKNOWN");
    assert_string_equal(outcome(f), "denied:write_denied");
    assert_int_equal(turn_rig_count(&f->rig, EVENT_SCRIPT_EVENT), 0);
}

/* A script that only reads is planned with other reads, and a breakpoint on writes does not stop it. */
SCRIPT_TEST(the_scheduler_asks_for_the_calls_effect)
{
    struct script_rig *f = *state;
    f->answers = works;
    f->pool.tools.items = known;
    f->pool.tools.count = COUNT_OF(known);
    turn_rig_open(&f->rig);
    turn_rig_file(&f->rig, "a.txt", "a");
    struct fake_answer *answer = fake_provider_answer(f->rig.model);
    fake_answer_call(answer, "r1", "read_file", "{\"path\":\"a.txt\"}");
    fake_answer_call(answer, "s1", "run_script", "{\"script\":\"x\",\"tools\":[\"look\"]}");
    fake_answer_call(answer, "s2", "run_script", "{\"script\":\"y\",\"tools\":[\"note\"]}");
    turn_rig_turn(&f->rig, "go");
    const char *waves = event_json(turn_rig_event(&f->rig, EVENT_WAVES_PLANNED, 0), "waves");
    assert_non_null(strstr(waves, "\"calls\":[\"r1\",\"s1\"],\"why\":\"s2 is not a read (LOCAL_WRITE)\""));
}

#define LOOKING "{\"script\":\"x\",\"tools\":[\"look\"]}"

/* Two reads, one of them a script. */
static void ask_for_looking(struct script_rig *f)
{
    have_tools(f);
    turn_rig_open(&f->rig);
    struct fake_answer *answer = fake_provider_answer(f->rig.model);
    fake_answer_call(answer, "c1", "run_script", LOOKING);
    fake_answer_call(answer, "c2", "list_dir", "{}");
}

/* How the calls were planned. */
static const char *plan_looking(struct script_rig *f)
{
    ask_for_looking(f);
    turn_rig_turn(&f->rig, "go");
    return event_json(turn_rig_event(&f->rig, EVENT_WAVES_PLANNED, 0), "waves");
}

#define TOGETHER \
    "[{\"index\":1,\"mode\":\"parallel\",\"calls\":[\"c1\",\"c2\"],\"why\":\"last call\",\"effect\":\"READ_ONLY\"}]"

SCRIPT_TEST(the_plan_does_not_depend_on_what_is_ready_first)
{
    struct script_rig *f = *state;
    assert_string_equal(plan_looking(f), TOGETHER); /* the sandbox */
    tear_down(state);
    set_up(state);
    f = *state;
    f->pool.tools.told = false; /* the answer */
    f->pool.tells = true;
    f->pool.ready_after_ms = 700;
    assert_string_equal(plan_looking(f), TOGETHER);
    assert_int_equal(turn_rig_event(&f->rig, EVENT_WAVES_PLANNED, 0)->t -
                         turn_rig_event(&f->rig, EVENT_MODEL_RESPONDED, 0)->t,
                     700000);
    assert_string_equal(outcome(f), "result");
}

SCRIPT_TEST(a_sandbox_that_does_not_come_is_not_waited_for)
{
    struct script_rig *f = *state;
    f->pool.tools.told = false;
    f->pool.ready_after_ms = 700; /* then the failure is known */
    assert_non_null(strstr(plan_looking(f), "\"why\":\"runs alone: effect unknown\""));
}

SCRIPT_TEST(a_turn_that_ends_does_not_wait_for_the_tools)
{
    struct script_rig *f = *state;
    f->pool.tools.told = false;
    f->pool.ready_after_ms = 100000;
    ask_for_looking(f);
    turn_rig_submit(&f->rig, &(struct intent){.type = INTENT_START, .start = {.prompt = "go"}});
    turn_rig_run_for(&f->rig, 50000);
    assert_int_equal(turn_rig_count(&f->rig, EVENT_MODEL_RESPONDED), 1);
    assert_int_equal(turn_rig_count(&f->rig, EVENT_WAVES_PLANNED), 0);
    turn_rig_submit(&f->rig, &(struct intent){.type = INTENT_CANCEL});
    turn_rig_run(&f->rig);
    assert_string_equal(outcome(f), "denied:blocked");
    tear_down(state);
    set_up(state);
    f = *state;
    f->pool.tools.told = false;
    f->pool.ready_after_ms = 100000;
    f->rig.config.limits.wall_s = 20;
    plan_looking(f);
    assert_string_equal(outcome(f), "denied:deadline");
}

/* Records a turn with these calls, then runs it again without a sandbox: no divergence. */
static void run_again(struct script_rig *f, bool told, int64_t tool_calls, const char *planned)
{
    struct made made;
    struct again again;
    struct fake_pool pool;
    struct err err = ERR_INIT;
    made_init(&made);
    lend(f, &pool, &made.rig);
    pool.tools.items = known;
    pool.tools.count = COUNT_OF(known);
    pool.tools.told = told;
    pool.gave_up = !told;
    if (tool_calls)
        made.rig.config.limits.tool_calls = tool_calls;
    turn_check_open(&made.rig, made.path);
    struct fake_answer *answer = replay_answer(&made.rig);
    fake_answer_call(answer, "c0", "list_dir", "{}");
    fake_answer_call(answer, "c1", "run_script", LOOKING);
    fake_answer_call(answer, "c2", "list_dir", "{\"path\":\".\"}");
    replay_answer(&made.rig)->text = "over";
    f->answers = works;
    turn_rig_turn(&made.rig, "go");
    assert_non_null(strstr(event_json(turn_rig_event(&made.rig, EVENT_WAVES_PLANNED, 0), "waves"), planned));
    again_init(&again, made.path);
    assert_int_equal(recorded_tools_add(again.recording, again.rig.config.registry, true, &err), 0);
    if (tool_calls)
        again.rig.config.limits.tool_calls = tool_calls;
    again_copy_files(&again);
    again_run(&again);
    again_check_none(&again);
    again_release(&again);
    fake_pool_release(&pool);
    made_release(&made);
}

/* A call keeps its recorded effect, so it stays in its wave. */
SCRIPT_TEST(replay_without_a_sandbox_keeps_the_effect)
{
    run_again(*state, true, 0, "[\"c0\",\"c1\",\"c2\"]");
}

SCRIPT_TEST(replay_keeps_an_unknown_effect)
{
    run_again(*state, false, 0, "runs alone: effect unknown");
}

SCRIPT_TEST(replay_keeps_an_unstarted_call_in_its_wave)
{
    run_again(*state, true, 1, "[\"c0\",\"c1\",\"c2\"]");
}
