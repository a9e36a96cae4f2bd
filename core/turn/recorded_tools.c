/* Replays tool calls: recorded tools answer with recorded outcomes instead of running.
 *
 * An outcome is found by the id of its call. Ids may repeat in later turns, so each id has a queue: the first
 * execution gets the first outcome. A foreign tool that wrote files proposes the same change again if the files are as
 * they were, and the approved change is written. */

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "decision.h"
#include "replay.h"
#include "sandbox/script.h"
#include "tools/change.h"
#include "tools/outcome.h"
#include <string.h>

struct recorded_tool_run {
    struct loop_timer timer;
    struct tool_run *run;
    struct recorded_outcome *outcome; /* NULL: none */
    int64_t started_us;
    struct loop_work work; /* on the pool: rebuild a change, or write it */
    bool working;
    struct change_set *set;
    int failed;
    bool lost; /* the recording lacks the proposed bytes: the question has no diff */
    struct err err;
};

static bool is_outcome(const struct recorded_outcome *outcome, const char *name)
{
    return outcome && outcome->finished && outcome->finished->outcome && strcmp(outcome->finished->outcome, name) == 0;
}

/* Replies with the recorded outcome. If the output was too long to record, the reply is its recorded summary. */
static void reply_outcome(struct tool_reply *reply, const struct tool_run *run, const struct recorded_outcome *outcome)
{
    struct outcome recorded = outcome_from_event(run->call, run->tool->spec.name, outcome->finished);
    tool_reply_recorded(reply, &recorded);
}

static void reply_as_recorded(struct recorded_tool_run *state)
{
    struct tool_run *run = state->run;
    struct recorded_outcome *outcome = state->outcome;
    const struct event_tool_finished *finished = outcome ? outcome->finished : NULL;
    const struct event_result_info *result = finished ? finished->result : NULL;
    struct tool_reply reply = {0};
    if (state->set) {
        tool_reply_propose_own(&reply, state->set);
    } else if (state->failed) {
        tool_reply_error(&reply, "%s", state->err.text);
    } else if (outcome && outcome->proposed && !run->confirm_write) {
        tool_reply_ask(&reply);
    } else if (is_outcome(outcome, "artifact") || (result && result->truncated)) {
        reply_outcome(&reply, run, outcome);
    } else if (result && result->output) {
        tool_reply_page(&reply, xstrdup(result->output)); /* it was shortened for the model when it was recorded */
    } else if (finished && finished->failure && finished->failure->error) {
        tool_reply_error(&reply, "%s", finished->failure->error);
        reply.final = !finished->failure->retryable;
    } else {
        tool_reply_error(&reply, "the recording does not have the answer of %s", run->tool->spec.name);
    }
    run->state = NULL;
    free(state);
    tool_run_finish(run, &reply);
}

static void run_work(struct loop_work *work)
{
    struct recorded_tool_run *state = CONTAINER_OF(work, struct recorded_tool_run, work);
    const struct tool_run *run = state->run;
    if (run->confirm_write)
        state->failed = change_set_commit(run->approved, run->env->root, &state->err);
    else
        state->set =
            decision_recorded_changes(run->env->root, &state->outcome->proposed->files, &state->lost, &state->err);
}

static void worked(struct loop_work *work)
{
    struct recorded_tool_run *state = CONTAINER_OF(work, struct recorded_tool_run, work);
    if (state->lost && !state->outcome->lost)
        state->outcome->lost = xstrdup(state->err.text);
    reply_as_recorded(state);
}

static void answer(struct loop_timer *timer)
{
    struct recorded_tool_run *state = (struct recorded_tool_run *)timer;
    struct tool_run *run = state->run;
    const struct recorded_outcome *outcome = state->outcome;
    bool proposes = outcome && outcome->proposed && outcome->proposed->files.items && !run->confirm_write;
    bool writes = outcome && run->confirm_write && run->approved && !is_outcome(outcome, "failure");
    if (outcome)
        script_emit(run->emitter, run->call, outcome->told.buf, outcome->told.len);
    state->working = proposes || writes;
    if (state->working)
        loop_work_start(run->env->loop, &state->work, run_work, worked);
    else
        reply_as_recorded(state);
}

/* The first outcome of the call that was not used yet. */
static struct recorded_outcome *next_outcome(const struct tool *tool, const char *call)
{
    const struct recorded_tool *recorded = tool->data;
    for (size_t i = 0; i < recorded->recording->outcome_count; i++) {
        struct recorded_outcome *each = &recorded->recording->outcomes[i];
        if (!each->used && strcmp(each->call, call) == 0)
            return each;
    }
    return NULL;
}

size_t recording_answered(const struct recording *recording)
{
    size_t count = 0;
    for (size_t i = 0; i < recording->outcome_count; i++)
        count += recording->outcomes[i].used;
    return count;
}

const char *recording_lost(const struct recording *recording, const char *call)
{
    const char *lost = NULL;
    for (size_t i = 0; i < recording->outcome_count; i++)
        if (strcmp(recording->outcomes[i].call, call) == 0 && recording->outcomes[i].lost)
            lost = recording->outcomes[i].lost;
    return lost;
}

/* The recorded effect of this call, for tools whose effect depends on the call. */
static enum effect recorded_tool_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                                        const struct json *arguments)
{
    const struct recorded_outcome *outcome = next_outcome(tool, call);
    const struct recording *recording = ((const struct recorded_tool *)tool->data)->recording;
    (void)env;
    (void)arguments;
    if (outcome)
        return outcome->effect_text ? outcome->effect : tool->spec.effect;
    for (size_t i = recording->plan_count; i-- > 0;)
        if (strcmp(recording->plans[i].call, call) == 0)
            return recording->plans[i].effect;
    return tool->spec.effect;
}

/* True if the user stopped the turn while the call ran: the call failed, and its tool returned after that. A call
 * that fails on its own has no late return. */
static bool was_stopped(const struct recorded_outcome *outcome)
{
    return is_outcome(outcome, "failure") && outcome->late_ms >= 0;
}

static void stop_again(struct loop_timer *timer)
{
    struct recorded_tool_run *state = (struct recorded_tool_run *)timer;
    state->run->stop_turn(state->run);
}

static int64_t elapsed_us(const struct recorded_outcome *outcome)
{
    return outcome && outcome->finished ? outcome->finished->elapsed_ms * 1000 : 0;
}

/* A call that timed out stays silent until it is canceled, so it times out again whatever its limit is here. */
static void recorded_tool_start(struct tool_run *run)
{
    struct recorded_tool_run *state = xcalloc(1, sizeof(*state));
    struct loop *loop = run->env->loop;
    struct recorded_outcome *outcome = next_outcome(run->tool, run->call);
    bool asks = outcome && outcome->proposed && !run->confirm_write;
    if (outcome)
        outcome->used = !asks || is_outcome(outcome, "denied"); /* a denied call is not executed again */
    state->run = run;
    state->outcome = outcome;
    state->started_us = loop_now_us(loop);
    run->state = state;
    if (asks || !is_outcome(outcome, "timeout"))
        loop_timer_start(loop, &state->timer, state->started_us + (asks ? 0 : elapsed_us(outcome)),
                         !asks && was_stopped(outcome) ? stop_again : answer);
}

/* A late call returns at its recorded time; any other returns now, so that nothing waits for it. */
static void recorded_tool_cancel(struct tool_run *run)
{
    struct recorded_tool_run *state = run->state;
    struct loop *loop = run->env->loop;
    if (!state || state->working)
        return;
    if (state->outcome && state->outcome->late_ms >= 0)
        loop_timer_start(loop, &state->timer, state->started_us + state->outcome->late_ms * 1000, answer);
    else
        loop_timer_start(loop, &state->timer, loop_now_us(loop), answer);
}

static char **copy_keys(const struct event_strs *keys)
{
    if (!keys->items)
        return NULL;
    char **list = xcalloc(keys->count + 1, sizeof(*list));
    for (size_t i = 0; i < keys->count; i++)
        list[i] = xstrdup(keys->items[i] ? keys->items[i] : "");
    return list;
}

/* Derives limits that a transcript does not state: the longest wait the tool was given, and whether a timeout blocked
 * it. */
static void guess_limits(const struct recording *recording, struct tool_spec *spec)
{
    int64_t longest_ms = 0;
    for (size_t i = 0; i < recording->outcome_count; i++) {
        const struct recorded_outcome *outcome = &recording->outcomes[i];
        if (strcmp(outcome->tool, spec->name) != 0)
            continue;
        if (outcome->deadline_ms > longest_ms)
            longest_ms = outcome->deadline_ms;
        if (is_outcome(outcome, "timeout") && outcome->finished->timeout)
            spec->no_retry_on_timeout |= !outcome->finished->timeout->retryable;
    }
    spec->timeout_s = (double)longest_ms / 1000;
}

static struct recorded_tool *make_recorded_tool(struct recording *recording, const char *name,
                                                const struct event_tool_info *spec)
{
    struct recorded_tool *recorded = xcalloc(1, sizeof(*recorded));
    bool has_schema = spec->parameters && spec->parameters[0] == '{';
    recorded->recording = recording;
    recorded->name = xstrdup(name);
    recorded->description = xstrdup(spec->description ? spec->description : "");
    recorded->parameters = xstrdup(has_schema ? spec->parameters : "{\"type\":\"object\"}");
    recorded->keys = copy_keys(&spec->resource_keys);
    recorded->tool = (struct tool){
        .spec = {.name = recorded->name,
                 .description = recorded->description,
                 .effect = effect_from_name(spec->effect),
                 .idempotent = spec->idempotent,
                 .resource_keys = (const char *const *)recorded->keys,
                 .parameters = recorded->parameters},
        .effect = recorded_tool_effect,
        .start = recorded_tool_start,
        .cancel = recorded_tool_cancel,
        .data = recorded,
    };
    guess_limits(recording, &recorded->tool.spec);
    GROW(recording->recorded_tools, recording->recorded_tool_count, recording->recorded_tool_room);
    recording->recorded_tools[recording->recorded_tool_count++] = recorded;
    return recorded;
}

static bool is_recorded_tool(const struct tool *tool)
{
    return tool->start == recorded_tool_start;
}

static bool same_tool(const struct tool *tool, const struct tool *other)
{
    return strcmp(tool->spec.parameters, other->spec.parameters) == 0 && tool->spec.effect == other->spec.effect &&
           tool->spec.idempotent == other->spec.idempotent &&
           strcmp(tool->spec.description, other->spec.description) == 0;
}

/* Adds one stand-in. It replaces an older stand-in, and with `scripts` a tool that runs programs, but no other tool. */
static int recorded_tool_for(struct recording *recording, struct registry *registry, const struct event_tool_info *spec,
                             struct tool_changes *changes, struct err *err)
{
    const char *name = spec->name ? spec->name : "";
    const struct tool *there = registry_find(registry, name);
    if (there && !is_recorded_tool(there) && !(recording->scripts && there->spec.real_time))
        return 0;
    struct recorded_tool *recorded = make_recorded_tool(recording, name, spec);
    if (there && is_recorded_tool(there) && same_tool(there, &recorded->tool))
        return 0;
    if (changes)
        tool_changes_add(changes, recorded->name, there ? TOOL_CHANGED : TOOL_ADDED);
    return (there ? registry_replace : registry_add)(registry, &recorded->tool, err);
}

int recorded_tools_add(struct recording *recording, struct registry *registry, bool scripts, struct err *err)
{
    recording->scripts = scripts;
    for (size_t i = 0; i < recording->tools.count; i++)
        if (recorded_tool_for(recording, registry, &recording->tools.items[i], NULL, err) < 0)
            return -1;
    return 0;
}

/* ---- tools that came and went ---- */

static bool names_tool(const struct event_tool_info_list *tools, const char *name)
{
    for (size_t i = 0; i < tools->count; i++)
        if (tools->items[i].name && strcmp(tools->items[i].name, name) == 0)
            return true;
    return false;
}

static void adopt_recorded(struct recording *recording, struct registry *registry,
                           const struct event_tool_info_list *tools, struct tool_changes *changes)
{
    struct err err = ERR_INIT;
    for (size_t i = registry_count(registry); i-- > 0;) {
        const struct tool *tool = registry_at(registry, i);
        if (!is_recorded_tool(tool) || names_tool(tools, tool->spec.name))
            continue;
        tool_changes_add(changes, tool->spec.name, TOOL_REMOVED);
        registry_remove(registry, tool->spec.name);
    }
    for (size_t i = 0; i < tools->count; i++)
        if (recorded_tool_for(recording, registry, &tools->items[i], changes, &err) < 0)
            log_warn("ignored a recorded tool: %s", err.text);
}

static void adopt(struct tool_source *source, struct registry *registry, int64_t turn, struct tool_changes *changes)
{
    struct recording *recording = CONTAINER_OF(source, struct recording, source);
    for (size_t i = 0; i < recording->change_count; i++)
        if (recording->changes[i].turn == turn)
            adopt_recorded(recording, registry, &recording->changes[i].tools, changes);
}

struct tool_source *recording_tools(struct recording *recording)
{
    recording->source.adopt = adopt;
    return &recording->source;
}
