/* A session whose tools run real programs in bubblewrap. */

#include "runtime_rig.h"
#include "base/file.h"
#include "base/mem.h"
#include "event_json.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PATIENCE_US (100 * INT64_C(1000000))
#define LOOK_US     2000

void runtime_rig_init(struct runtime_rig *rig)
{
    struct err err = ERR_INIT;
    *rig = (struct runtime_rig){0};
    turn_rig_init_on(&rig->turn, clock_system());
    if (sandbox_engines_load(&rig->engines, NULL, &err))
        BUG("%s", err.text);
    static const char *const names[] = {"workspaces", "kept", "saved", "skills"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        rig->folders[i] = scratch_path(&rig->turn.scratch, names[i]);
    static const char *skills[2];
    skills[0] = rig->folders[3];
    rig->options = (struct runtime_options){.loop = rig->turn.loop,
                                            .id = "rig",
                                            .engine = sandbox_engines_find(&rig->engines, "bwrap"),
                                            .folder = rig->folders[0],
                                            .kept = rig->folders[1],
                                            .artifacts = rig->folders[2],
                                            .artifact_project = "/home/me/project",
                                            .skills = skills,
                                            .policy = {.isolated = true}};
    rig->turn.config.limits.tool_calls = 100;
    rig->turn.config.limits.steps = 100;
}

void runtime_rig_open(struct runtime_rig *rig)
{
    rig->turn.config.runtime = runtime_new(&rig->options);
    rig->turn.config.programs = runtime_control(rig->turn.config.runtime);
    turn_rig_open(&rig->turn);
}

void runtime_rig_call(struct runtime_rig *rig, const char *call, const char *tool, const char *arguments)
{
    fake_answer_call(fake_provider_answer(rig->turn.model), call, tool, arguments);
}

static void look(struct loop_timer *timer)
{
    struct runtime_rig *rig = CONTAINER_OF(timer, struct runtime_rig, look);
    struct loop *loop = rig->turn.loop;
    if (rig->holds(rig))
        loop_stop(loop);
    else
        loop_timer_start(loop, timer, loop_now_us(loop) + LOOK_US, look);
}

void runtime_rig_await(struct runtime_rig *rig, bool (*holds)(struct runtime_rig *rig))
{
    int64_t until = loop_now_us(rig->turn.loop) + PATIENCE_US;
    rig->holds = holds;
    while (!holds(rig)) {
        if (loop_now_us(rig->turn.loop) > until)
            BUG("it does not come");
        loop_timer_start(rig->turn.loop, &rig->look, loop_now_us(rig->turn.loop), look);
        loop_run(rig->turn.loop);
    }
    loop_timer_stop(rig->turn.loop, &rig->look);
}

static bool is_idle(struct runtime_rig *rig)
{
    return engine_idle(rig->turn.engine);
}

void runtime_rig_turn(struct runtime_rig *rig)
{
    turn_rig_submit(&rig->turn, &(struct intent){.type = INTENT_START, .start = {.prompt = "do it"}});
    runtime_rig_await(rig, is_idle);
}

/* Checks that the ended session left nothing of a workspace. */
static void expect_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            fail_msg("%s/%s is left", folder, entry->d_name);
    if (dir)
        closedir(dir);
}

void runtime_rig_release(struct runtime_rig *rig)
{
    if (!rig->ended)
        turn_rig_submit(&rig->turn, &(struct intent){.type = INTENT_END});
    if (!rig->resumed)
        turn_check_promises(&rig->turn, true);
    assert_int_equal(rig->turn.events[rig->turn.event_count - 1].type, EVENT_SESSION_ENDED);
    expect_empty(rig->folders[0]);
    struct runtime *runtime = rig->turn.config.runtime;
    engine_free(steal(&rig->turn.engine));
    runtime_free(runtime);
    turn_rig_release(&rig->turn);
    sandbox_engines_release(&rig->engines);
    for (size_t i = 0; i < COUNT_OF(rig->folders); i++)
        free(rig->folders[i]);
}

int runtime_rig_set_up(void **state)
{
    runtime_rig_init(*state);
    return 0;
}

int runtime_rig_tear_down(void **state)
{
    struct runtime_rig *rig = *state;
    if (rig->turn.engine)
        runtime_rig_release(rig);
    workspace_content_release(&rig->content);
    rig->content = (struct workspace_content){0};
    return 0;
}

const char *runtime_rig_result(struct runtime_rig *rig, const char *call)
{
    const char *outcome = turn_check_outcome(&rig->turn, call);
    const struct event *finished = turn_rig_finished(&rig->turn, call);
    if (strcmp(outcome, "result") != 0)
        fail_msg("%s: %s %s%s", call, outcome,
                 finished && event_json(finished, "failure") ? event_json(finished, "failure") : "",
                 finished && event_json(finished, "denied") ? event_json(finished, "denied") : "");
    return event_json(finished, "result");
}

const char *runtime_rig_of(struct runtime_rig *rig, const char *call, const char *path)
{
    CLEANUP(free) char *below = xasprintf("output.%s", path);
    return turn_check_json(&rig->turn, runtime_rig_result(rig, call), below);
}

const char *runtime_rig_error(struct runtime_rig *rig, const char *call)
{
    assert_string_equal(turn_check_outcome(&rig->turn, call), "failure");
    return turn_check_json(&rig->turn, event_json(turn_rig_finished(&rig->turn, call), "failure"), "error");
}

const struct event_workspace_state *runtime_rig_state(struct runtime_rig *rig)
{
    size_t count = turn_rig_count(&rig->turn, EVENT_WORKSPACE_STATE);
    workspace_content_release(&rig->content);
    rig->content = (struct workspace_content){0};
    for (size_t i = 0; i < count; i++) {
        const struct event *event = turn_rig_event(&rig->turn, EVENT_WORKSPACE_STATE, i);
        if (event->workspace_state.delta) {
            workspace_content_apply(&rig->content, event);
        } else {
            workspace_content_release(&rig->content);
            workspace_content_begin(&rig->content, event);
        }
    }
    return &rig->content.state;
}
