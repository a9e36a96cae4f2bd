/* Reading a recording for a run that repeats it; see replay.h.
 *
 * Stand-ins find the recorded outcome by the id of the call. Ids may come again in later turns, so each id has a queue:
 * the first execution gets the first outcome. */

#include "replay.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/scripted.h"
#include <string.h>
#include <sys/stat.h>

struct recorded_turn {
    int64_t number, seq;
    char *prompt;
};

struct recorded_outcome {
    char *call, *tool;
    enum effect effect;
    int64_t deadline_ms;   /* the hard wait it had */
    char *outcome;
    char *details;         /* JSON of the outcome's own field */
    int64_t elapsed_ms;
    int64_t late_ms;       /* when a timed-out one came back; -1: never */
    bool asked;            /* a write was proposed */
    bool used;
    char **told;           /* what a script sent, JSON each */
    size_t told_count, told_room;
};

struct stand_in {
    struct tool tool;
    char *name, *description, *parameters;
    char **keys;
    struct recording *recording;
};

struct recording {
    struct journal_reader *reader;
    char *files;
    struct recorded_turn *turns;
    size_t turn_count, turn_room;
    struct recorded_outcome *outcomes;
    size_t outcome_count, outcome_room;
    struct stand_in **stand_ins;
    size_t stand_in_count, stand_in_room;
    char *tools;           /* JSON of session.started */
    char *limits;          /* JSON of the first budget.opened */
    enum thinking_level thinking;
};

static struct recorded_outcome *newest_outcome(struct recording *recording, const char *call)
{
    for (size_t i = recording->outcome_count; call && i > 0; i--)
        if (strcmp(recording->outcomes[i - 1].call, call) == 0)
            return &recording->outcomes[i - 1];
    return NULL;
}

static void set_text(char **place, const char *text)
{
    free(*place);
    *place = text ? xstrdup(text) : NULL;
}

static const char *details_of(const struct event_tool_finished *f)
{
    return f->result ? f->result : f->failure ? f->failure : f->timeout ? f->timeout : f->denied ? f->denied : f->artifact;
}

static void note(struct recording *recording, const struct event *event, struct arena *arena)
{
    struct recorded_outcome *outcome;

    switch (event->type) {
    case EVENT_SESSION_STARTED:
        set_text(&recording->tools, event->session_started.tools);
        break;
    case EVENT_TURN_STARTED: {
        const char *thinking = event->turn_started.thinking;

        GROW(recording->turns, recording->turn_count, recording->turn_room);
        recording->turns[recording->turn_count++] = (struct recorded_turn){
            event->turn, event->seq, xstrdup(event->turn_started.prompt ? event->turn_started.prompt : "")};
        if (thinking && recording->turn_count == 1)
            recording->thinking = thinking_level_from_name(
                json_str(json_get(json_parse(arena, thinking, strlen(thinking), NULL), "level"), NULL));
        break;
    }
    case EVENT_BUDGET_OPENED:
        if (!recording->limits)
            set_text(&recording->limits, event->budget_opened.limits);
        break;
    case EVENT_TOOL_STARTED:
        GROW(recording->outcomes, recording->outcome_count, recording->outcome_room);
        recording->outcomes[recording->outcome_count++] =
            (struct recorded_outcome){.call = xstrdup(event->tool_started.call ? event->tool_started.call : ""),
                                      .tool = xstrdup(event->tool_started.tool ? event->tool_started.tool : ""),
                                      .effect = effect_from_name(event->tool_started.effect),
                                      .deadline_ms = event->tool_started.deadline_ms,
                                      .late_ms = -1};
        break;
    case EVENT_SCRIPT_EVENT:
        outcome = newest_outcome(recording, event->script_event.call);
        if (outcome && event->script_event.event) {
            GROW(outcome->told, outcome->told_count, outcome->told_room);
            outcome->told[outcome->told_count++] = xstrdup(event->script_event.event);
        }
        break;
    case EVENT_WRITE_PROPOSED:
        outcome = newest_outcome(recording, event->write_proposed.call);
        if (outcome)
            outcome->asked = true;
        break;
    case EVENT_TOOL_FINISHED:
        outcome = newest_outcome(recording, event->tool_finished.call);
        if (outcome && !outcome->outcome) {
            set_text(&outcome->outcome, event->tool_finished.outcome);
            set_text(&outcome->details, details_of(&event->tool_finished));
            outcome->elapsed_ms = event->tool_finished.elapsed_ms;
        }
        break;
    case EVENT_LATE_SUPPRESSED:
        outcome = newest_outcome(recording, event->late_suppressed.call);
        if (outcome)
            outcome->late_ms = event->late_suppressed.elapsed_ms;
        break;
    default:
        break;
    }
}

static char *files_beside(const char *path)
{
    const char *dot = strrchr(path, '.');
    const char *slash = strrchr(path, '/');
    struct stat st;
    char *dir;

    if (!dot || (slash && dot < slash))
        return NULL;
    dir = xmemdup0(path, (size_t)(dot - path));
    if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
        return dir;
    free(dir);
    return NULL;
}

struct recording *recording_open(const char *path, struct err *err)
{
    struct journal_reader *reader = journal_open(path, err);
    struct recording *recording;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;

    if (!reader)
        return NULL;
    recording = xcalloc(1, sizeof(*recording));
    recording->reader = reader;
    recording->files = files_beside(path);
    for (size_t i = 0; i < journal_count(reader); i++) {
        if (journal_event(reader, i, &event, &arena, err) < 0 || scripted_check_event(&event, err) < 0) {
            err->line = journal_line_number(reader, i);
            recording_free(recording);
            return NULL;
        }
        note(recording, &event, &arena);
        arena_reset(&arena);
    }
    return recording;
}

void recording_free(struct recording *recording)
{
    if (!recording)
        return;
    for (size_t i = 0; i < recording->turn_count; i++)
        free(recording->turns[i].prompt);
    free(recording->turns);
    for (size_t i = 0; i < recording->outcome_count; i++) {
        free(recording->outcomes[i].call);
        for (size_t k = 0; k < recording->outcomes[i].told_count; k++)
            free(recording->outcomes[i].told[k]);
        free(recording->outcomes[i].told);
        free(recording->outcomes[i].tool);
        free(recording->outcomes[i].outcome);
        free(recording->outcomes[i].details);
    }
    free(recording->outcomes);
    for (size_t i = 0; i < recording->stand_in_count; i++) {
        struct stand_in *stand_in = recording->stand_ins[i];

        free(stand_in->name);
        free(stand_in->description);
        free(stand_in->parameters);
        for (size_t k = 0; stand_in->keys && stand_in->keys[k]; k++)
            free(stand_in->keys[k]);
        free(stand_in->keys);
        free(stand_in);
    }
    free(recording->stand_ins);
    free(recording->tools);
    free(recording->limits);
    free(recording->files);
    journal_reader_free(recording->reader);
    free(recording);
}

const struct journal_reader *recording_reader(const struct recording *recording)
{
    return recording->reader;
}

size_t recording_turn_count(const struct recording *recording)
{
    return recording->turn_count;
}

size_t recording_turns_until(const struct recording *recording, int64_t seq)
{
    size_t count = 0;

    while (count < recording->turn_count && recording->turns[count].seq <= seq)
        count++;
    return count;
}

const char *recording_prompt(const struct recording *recording, size_t index)
{
    return recording->turns[index].prompt;
}

int64_t recording_turn_number(const struct recording *recording, size_t index)
{
    return recording->turns[index].number;
}

const char *recording_files(const struct recording *recording)
{
    return recording->files;
}

enum thinking_level recording_thinking(const struct recording *recording)
{
    return recording->thinking;
}

void recording_limits(const struct recording *recording, struct budget_limits *limits)
{
    budget_limits_read(limits, recording->limits);
}

/* ---- decisions ---- */

/* The text that a person wrote instead of the proposed one. */
static struct change_set *read_edit(const struct event_edited *edited, struct arena *arena)
{
    const struct json *files = edited->after ? json_parse(arena, edited->after, strlen(edited->after), NULL) : NULL;
    struct change_set *set = change_set_new();

    json_each(file, files)
    {
        const struct json *text = json_get(file, "text");
        struct change *change;

        GROW(set->items, set->count, set->room);
        change = &set->items[set->count++];
        memset(change, 0, sizeof(*change));
        change->path = xstrdup(json_str(json_get(file, "path"), ""));
        change_side_absent(&change->old);
        if (text && text->type == JSON_STRING)
            change_side_set(&change->new, text->text, text->len, (mode_t)json_int(json_get(file, "mode"), 0644));
        else
            change_side_absent(&change->new);
    }
    return set;
}

int recording_decisions(const struct recording *recording, struct approval *approval, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct hash_map calls = {0}; /* ask → line of its proposal */
    struct change_set *edit = NULL;
    int64_t turn = 0;
    struct event event, proposal;
    int result = 0;

    for (size_t i = 0; i < journal_count(recording->reader) && result == 0; i++) {
        struct verdict verdict = {.by = BY_RECORDING};
        int64_t line;

        arena_reset(&arena);
        if ((result = journal_event(recording->reader, i, &event, &arena, err)) < 0)
            break;
        if (event.type == EVENT_TURN_STARTED)
            turn++;
        if (event.type == EVENT_WRITE_PROPOSED && event.write_proposed.ask)
            hash_map_put(&calls, event.write_proposed.ask, (int64_t)i);
        if (event.type == EVENT_EDITED && event.edited.what && strcmp(event.edited.what, "write") == 0) {
            change_set_free(edit);
            edit = read_edit(&event.edited, &arena);
        }
        if (event.type != EVENT_WRITE_DECIDED || !event.write_decided.ask)
            continue;
        line = hash_map_get(&calls, event.write_decided.ask, -1);
        if (line < 0)
            continue; /* nobody knows what it was about */
        if ((result = journal_event(recording->reader, (size_t)line, &proposal, &arena, err)) < 0)
            break;
        verdict.decision = decision_from_name(event.write_decided.decision);
        verdict.reason = (char *)event.write_decided.reason;
        verdict.hunks = (char *)event.write_decided.hunks;
        verdict.edited = verdict.decision == DECISION_EDITED ? edit : NULL;
        if (verdict.decision != DECISION_NONE && proposal.write_proposed.call)
            approval_record(approval, turn, proposal.write_proposed.call, &verdict);
    }
    change_set_free(edit);
    hash_map_release(&calls);
    return result;
}

/* ---- stand-ins ---- */

struct stand_in_run {
    struct loop_timer timer;
    struct tool_run *run;
    struct recorded_outcome *outcome; /* NULL: there is none */
    int64_t started_us;
};

static void answer(struct loop_timer *timer)
{
    struct stand_in_run *state = (struct stand_in_run *)timer;
    struct tool_run *run = state->run;
    struct recorded_outcome *outcome = state->outcome;
    struct tool_reply reply = {0};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *details =
        outcome && outcome->details ? json_parse(&arena, outcome->details, strlen(outcome->details), NULL) : NULL;
    const struct json *output = json_get(details, "output");

    for (size_t i = 0; outcome && i < outcome->told_count && run->script_event; i++)
        run->script_event(run, outcome->told[i], strlen(outcome->told[i]));
    if (outcome && outcome->asked && !run->confirm_write) {
        tool_reply_output(&reply, xstrdup("{\"needs_confirmation\":true}"));
    } else if (output) {
        struct strbuf text = STRBUF_INIT;

        json_write(&text, output, JSON_COMPACT);
        tool_reply_output(&reply, strbuf_detach(&text, NULL));
    } else if (json_get(details, "error")) {
        tool_reply_error(&reply, "%s", json_str(json_get(details, "error"), "it failed"));
        reply.final = !json_bool(json_get(details, "retryable"), true);
    } else {
        tool_reply_error(&reply, "the recording does not hold what %s answered", run->tool->spec.name);
    }
    run->state = NULL;
    free(state);
    tool_run_finish(run, &reply);
}

static bool is_outcome(const struct recorded_outcome *outcome, const char *name)
{
    return outcome && outcome->outcome && strcmp(outcome->outcome, name) == 0;
}

/* What became of the call, of those that have not been told yet. */
static struct recorded_outcome *next_outcome(const struct tool *tool, const char *call)
{
    const struct stand_in *stand_in = tool->data;

    for (size_t i = 0; i < stand_in->recording->outcome_count; i++) {
        struct recorded_outcome *each = &stand_in->recording->outcomes[i];

        if (!each->used && strcmp(each->call, call) == 0)
            return each;
    }
    return NULL;
}

/* What was recorded of this call, where one differs from another. */
static enum effect stand_in_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                                   const struct json *arguments)
{
    const struct recorded_outcome *outcome = next_outcome(tool, call);

    (void)env;
    (void)arguments;
    return outcome && outcome->effect != EFFECT_UNKNOWN ? outcome->effect : tool->spec.effect;
}

/* A call that timed out is silent until it is told to stop: however long it may take here, it times out again. */
static void stand_in_start(struct tool_run *run)
{
    struct stand_in_run *state = xcalloc(1, sizeof(*state));
    struct loop *loop = run->env->loop;
    struct recorded_outcome *outcome = next_outcome(run->tool, run->call);
    bool asks;

    asks = outcome && outcome->asked && !run->confirm_write;
    if (outcome)
        outcome->used = !asks || is_outcome(outcome, "denied"); /* a refused one is not executed again */
    state->run = run;
    state->outcome = outcome;
    state->started_us = loop_now_us(loop);
    run->state = state;
    if (asks || !is_outcome(outcome, "timeout"))
        loop_timer_start(loop, &state->timer, state->started_us + (asks || !outcome ? 0 : outcome->elapsed_ms * 1000), answer);
}

/* One that came late comes back when it did; any other now, so that nothing waits for it. */
static void stand_in_cancel(struct tool_run *run)
{
    struct stand_in_run *state = run->state;
    struct loop *loop = run->env->loop;

    if (!state)
        return;
    if (is_outcome(state->outcome, "timeout") && state->outcome->late_ms >= 0)
        loop_timer_start(loop, &state->timer, state->started_us + state->outcome->late_ms * 1000, answer);
    else
        loop_timer_start(loop, &state->timer, loop_now_us(loop), answer);
}

static char **read_keys(const struct json *keys)
{
    char **list;
    size_t n = 0;

    if (!keys || keys->type != JSON_ARRAY)
        return NULL;
    list = xcalloc((size_t)keys->count + 1, sizeof(*list));
    json_each(key, keys) list[n++] = xstrdup(json_str(key, ""));
    return list;
}

/* What a transcript does not say of a tool but shows: the longest wait it was given, and whether a timeout was the end of
 * it. */
static void guess_limits(const struct recording *recording, struct tool_spec *spec)
{
    int64_t longest_ms = 0;

    for (size_t i = 0; i < recording->outcome_count; i++) {
        const struct recorded_outcome *outcome = &recording->outcomes[i];
        CLEANUP(arena) struct arena arena = ARENA_INIT;

        if (strcmp(outcome->tool, spec->name) != 0)
            continue;
        if (outcome->deadline_ms > longest_ms)
            longest_ms = outcome->deadline_ms;
        if (is_outcome(outcome, "timeout") && outcome->details)
            spec->no_retry_on_timeout |= !json_bool(
                json_get(json_parse(&arena, outcome->details, strlen(outcome->details), NULL), "retryable"), true);
    }
    spec->timeout_s = (double)longest_ms / 1000;
}

int recording_stand_ins(struct recording *recording, struct registry *registry, bool scripts, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *tools =
        recording->tools ? json_parse(&arena, recording->tools, strlen(recording->tools), NULL) : NULL;

    json_each(spec, tools)
    {
        const char *name = json_str(json_get(spec, "name"), "");
        const struct json *parameters = json_get(spec, "parameters");
        struct strbuf schema = STRBUF_INIT;
        struct stand_in *stand_in;

        bool there = registry_find(registry, name);
        if (there && !(scripts && strcmp(name, "run_script") == 0))
            continue;
        stand_in = xcalloc(1, sizeof(*stand_in));
        stand_in->recording = recording;
        stand_in->name = xstrdup(name);
        stand_in->description = xstrdup(json_str(json_get(spec, "description"), ""));
        if (parameters && parameters->type == JSON_OBJECT)
            json_write(&schema, parameters, JSON_COMPACT);
        else
            strbuf_addstr(&schema, "{\"type\":\"object\"}");
        stand_in->parameters = strbuf_detach(&schema, NULL);
        stand_in->keys = read_keys(json_get(spec, "resource_keys"));
        stand_in->tool = (struct tool){
            .spec = {.name = stand_in->name,
                     .description = stand_in->description,
                     .effect = effect_from_name(json_str(json_get(spec, "effect"), NULL)),
                     .idempotent = json_bool(json_get(spec, "idempotent"), true),
                     .resource_keys = (const char *const *)stand_in->keys,
                     .parameters = stand_in->parameters},
            .effect = stand_in_effect,
            .start = stand_in_start,
            .cancel = stand_in_cancel,
            .data = stand_in,
        };
        guess_limits(recording, &stand_in->tool.spec);
        GROW(recording->stand_ins, recording->stand_in_count, recording->stand_in_room);
        recording->stand_ins[recording->stand_in_count++] = stand_in;
        if ((there ? registry_replace : registry_add)(registry, &stand_in->tool, err) < 0)
            return -1;
    }
    return 0;
}
