/* Reads a recording for a run that repeats it: prompts, decisions, edits, outcomes. */

#include "replay.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/scripted.h"
#include "prepare.h"
#include "undo.h"
#include "waves.h"
#include <string.h>
#include <sys/stat.h>

static struct recorded_outcome *newest_outcome(struct recording *recording, const char *call)
{
    for (size_t i = recording->outcome_count; call && i > 0; i--)
        if (strcmp(recording->outcomes[i - 1].call, call) == 0)
            return &recording->outcomes[i - 1];
    return NULL;
}

static void note_plan(struct recording *recording, const struct event_plan_wave_list *waves)
{
    for (size_t i = 0; i < waves->count; i++) {
        const struct event_plan_wave *wave = &waves->items[i];
        enum effect effect;
        if (!waves_effect(wave, &effect))
            continue;
        for (size_t k = 0; k < wave->calls.count; k++) {
            const char *call = wave->calls.items[k];
            GROW(recording->plans, recording->plan_count, recording->plan_room);
            recording->plans[recording->plan_count++] = (struct recorded_plan){xstrdup(call ? call : ""), effect};
        }
    }
}

static void note(struct recording *recording, const struct event *event)
{
    struct recorded_outcome *outcome;
    switch (event->type) {
    case EVENT_SESSION_STARTED:
        recording->tools = event_copy(&recording->arena, event)->session_started.tools;
        break;
    case EVENT_TOOLS_CHANGED:
        GROW(recording->changes, recording->change_count, recording->change_room);
        recording->changes[recording->change_count++] = (struct recorded_tools){
            (int64_t)recording->turn_count + 1, event_copy(&recording->arena, event)->tools_changed.tools};
        break;
    case EVENT_TURN_STARTED: {
        const struct event_thinking_info *thinking = event->turn_started.thinking;
        GROW(recording->turns, recording->turn_count, recording->turn_room);
        /* Lines written by hand may lack the number; the scripted model counts such turns in the same way. */
        int64_t number = event->turn > 0 ? event->turn : (int64_t)recording->turn_count + 1;
        recording->turns[recording->turn_count++] = (struct recorded_turn){
            number, event->seq, xstrdup(event->turn_started.prompt ? event->turn_started.prompt : "")};
        if (thinking && recording->turn_count == 1)
            recording->thinking = thinking_level_from_name(thinking->level);
        break;
    }
    case EVENT_BUDGET_OPENED:
        /* Those that the user raised them to, because the repeated turn does not stop to ask. */
        if (!recording->limits)
            recording->limits_turn = event->turn;
        if (recording->limits_turn == event->turn)
            recording->limits = event_copy(&recording->arena, event)->budget_opened.limits;
        break;
    case EVENT_WAVES_PLANNED:
        note_plan(recording, &event->waves_planned.waves);
        break;
    case EVENT_TOOL_STARTED:
        GROW(recording->outcomes, recording->outcome_count, recording->outcome_room);
        recording->outcomes[recording->outcome_count++] =
            (struct recorded_outcome){.call = xstrdup(event->tool_started.call ? event->tool_started.call : ""),
                                      .tool = xstrdup(event->tool_started.tool ? event->tool_started.tool : ""),
                                      .effect_text = event->tool_started.effect != NULL,
                                      .effect = effect_from_name(event->tool_started.effect),
                                      .deadline_ms = event->tool_started.deadline_ms,
                                      .late_ms = -1};
        break;
    case EVENT_SCRIPT_EVENT:
        outcome = newest_outcome(recording, event->script_event.call);
        if (outcome && event->script_event.event) {
            strbuf_addstr(&outcome->told, event->script_event.event);
            strbuf_addch(&outcome->told, '\n');
        }
        break;
    case EVENT_WRITE_PROPOSED:
        outcome = newest_outcome(recording, event->write_proposed.call);
        if (outcome)
            outcome->proposed = &event_copy(&recording->arena, event)->write_proposed;
        break;
    case EVENT_TOOL_FINISHED:
        outcome = newest_outcome(recording, event->tool_finished.call);
        if (outcome && !outcome->finished)
            outcome->finished = &event_copy(&recording->arena, event)->tool_finished;
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

/* Folds the recording, because only the fold knows which call a checkpoint belongs to. */
static int note_undos(struct recording *recording, struct err *err)
{
    CLEANUP(session) struct session session;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    int64_t turn = 0, step = UNDO_AFTER_TURN;
    session_init(&session);
    for (size_t i = 0; i < journal_count(recording->reader); i++, arena_reset(&arena)) {
        if (journal_event(recording->reader, i, &event, &arena, err) < 0)
            return -1;
        session_apply(&session, &event);
        turn += event.type == EVENT_TURN_STARTED;
        if (event.type == EVENT_TURN_STARTED)
            step = 1;
        else if (event.type == EVENT_MODEL_REQUESTED)
            step = event.model_requested.step + 1;
        else if (event.type == EVENT_TURN_FINISHED)
            step = UNDO_AFTER_TURN;
        if (event.type != EVENT_WRITE_UNDONE && event.type != EVENT_WRITE_REDONE)
            continue;
        uint32_t row = session_find_checkpoint(
            &session, event.type == EVENT_WRITE_UNDONE ? event.write_undone.checkpoint : event.write_redone.checkpoint);
        if (row == SESSION_NONE || session.asks[row].call == SESSION_NONE)
            continue;
        const struct session_call *call = &session.calls[session.asks[row].call];
        GROW(recording->undos, recording->undo_count, recording->undo_room);
        recording->undos[recording->undo_count++] =
            (struct recorded_undo){turn, step, arena_strdup(&recording->arena, session_name(&session, call->id)),
                                   call->turn + 1, !session.asks[row].undone_seq};
    }
    return 0;
}

static uint32_t next_undo(struct undo_source *source, const struct session *session, int64_t turn, int64_t step,
                          bool *redo)
{
    struct recording *recording = CONTAINER_OF(source, struct recording, undo_source);
    while (recording->undo_next < recording->undo_count) {
        const struct recorded_undo *undo = &recording->undos[recording->undo_next];
        if (undo->turn > turn || (undo->turn == turn && undo->step > step))
            break;
        recording->undo_next++;
        uint32_t call = session_find_call_in(session, undo->call, undo->of_turn);
        uint32_t row = call == SESSION_NONE ? SESSION_NONE : session->calls[call].ask;
        *redo = undo->redo;
        if (row != SESSION_NONE && undo_possible(&session->asks[row], undo->redo))
            return row;
    }
    return SESSION_NONE;
}

struct undo_source *recording_undos(struct recording *recording)
{
    recording->undo_source.next = next_undo;
    return &recording->undo_source;
}

static char *files_beside(const char *path)
{
    const char *dot = strrchr(path, '.');
    const char *slash = strrchr(path, '/');
    struct stat st;
    if (!dot || (slash && dot < slash))
        return NULL;
    char *dir = xmemdup0(path, (size_t)(dot - path));
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
    bool undos = false;
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
        note(recording, &event);
        undos |= event.type == EVENT_WRITE_UNDONE || event.type == EVENT_WRITE_REDONE;
        arena_reset(&arena);
    }
    if (undos && note_undos(recording, err) < 0) {
        recording_free(recording);
        return NULL;
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
        strbuf_release(&recording->outcomes[i].told);
        free(recording->outcomes[i].tool);
        free(recording->outcomes[i].lost);
    }
    free(recording->outcomes);
    for (size_t i = 0; i < recording->plan_count; i++)
        free(recording->plans[i].call);
    free(recording->plans);
    for (size_t i = 0; i < recording->recorded_tool_count; i++) {
        struct recorded_tool *recorded = recording->recorded_tools[i];
        free(recorded->name);
        free(recorded->description);
        free(recorded->parameters);
        for (size_t k = 0; recorded->keys && recorded->keys[k]; k++)
            free(recorded->keys[k]);
        free(recorded->keys);
        free(recorded);
    }
    free(recording->recorded_tools);
    free(recording->changes);
    free(recording->undos);
    arena_release(&recording->arena);
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

char *recording_reported(const struct recording *recording, bool *instructions)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    const struct event_message_list *messages = NULL;
    const char *prompt = NULL;
    *instructions = false;
    for (size_t i = 0; i < journal_count(recording->reader) && !messages; i++) {
        arena_reset(&arena);
        if (journal_event(recording->reader, i, &event, &arena, NULL) == 0 && event.type == EVENT_TURN_PREPARED &&
            event.turn_prepared.messages.items)
            messages = &event.turn_prepared.messages;
    }
    for (size_t i = 0; messages && i < messages->count; i++) {
        const struct event_message *message = &messages->items[i];
        const char *text = message->text ? message->text : "";
        if (!message->role || strcmp(message->role, role_name(ROLE_SYSTEM)) != 0)
            continue;
        if (!prompt)
            prompt = text;
        *instructions |= instructions_marked(text);
    }
    return prompt ? xstrdup(prompt) : NULL;
}

bool recording_compacted(const struct recording *recording)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    for (size_t i = 0; i < journal_count(recording->reader); i++, arena_reset(&arena))
        if (journal_event(recording->reader, i, &event, &arena, NULL) == 0 && event.type == EVENT_CONTEXT_COMPACTED)
            return true;
    return false;
}

enum thinking_level recording_thinking(const struct recording *recording)
{
    return recording->thinking;
}

void recording_limits(const struct recording *recording, struct budget_limits *limits)
{
    budget_limits_from_event(limits, recording->limits);
}

/* ---- decisions ---- */

/* The text that the user wrote instead of the proposed one. */
static struct change_set *read_edit(const struct event_edited *edited, struct arena *arena)
{
    const struct json *files = event_leaf(arena, edited->after);
    struct change_set *set = change_set_new();
    json_each (file, files) {
        const struct json *text = json_get(file, "text");
        GROW(set->items, set->count, set->room);
        struct change *change = &set->items[set->count++];
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

int recording_decisions(const struct recording *recording, struct rules *rules, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct hash_map calls = {0}; /* ask → line of its proposal */
    struct change_set *edit = NULL;
    int64_t turn = 0;
    struct event event, proposal;
    int result = 0;
    for (size_t i = 0; i < journal_count(recording->reader) && result == 0; i++) {
        struct decision decision = {.by = BY_RECORDING};
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
        int64_t line = hash_map_get(&calls, event.write_decided.ask, -1);
        if (line < 0)
            continue; /* the call of this decision is unknown */
        if ((result = journal_event(recording->reader, (size_t)line, &proposal, &arena, err)) < 0)
            break;
        decision.kind = decision_from_name(event.write_decided.decision);
        decision.reason = event.write_decided.reason;
        decision.hunks = event.write_decided.hunks;
        decision.edited = decision.kind == DECISION_EDITED ? edit : NULL;
        if (decision.kind != DECISION_NONE && proposal.write_proposed.call)
            rules_record(rules, turn, proposal.write_proposed.call, &decision);
    }
    change_set_free(edit);
    hash_map_release(&calls);
    return result;
}
