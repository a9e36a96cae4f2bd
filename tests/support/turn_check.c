/* Checks the order rules of the contract. It walks the events once, with a row for each call of the present turn. */

#include "turn_check.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "event_json.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct call_row {
    char id[256];
    int64_t turn;
    char ask[24];
    bool started, proposed, decided, allowed, saved, applied, finished, late;
};

struct walk {
    const struct turn_rig *rig;
    struct arena arena;
    struct call_row *calls;
    size_t call_count, call_room;
    int64_t turn; /* the running turn, 0 between turns */
    bool closed, finalized;
    char held[32];
    const struct event *event;
};

static void walk_cleanup(struct walk *walk)
{
    free(walk->calls);
    arena_release(&walk->arena);
}

#define PROMISE(walk, holds)                                                                                     \
    do {                                                                                                         \
        if (!(holds))                                                                                            \
            fail_msg("seq %lld %s: broken promise: %s", (long long)(walk)->event->seq, (walk)->event->type_name, \
                     #holds);                                                                                    \
    } while (0)

static struct call_row *find_call(struct walk *walk, const char *id)
{
    for (size_t i = 0; i < walk->call_count; i++)
        if (walk->calls[i].turn == walk->event->turn && strcmp(walk->calls[i].id, id ? id : "") == 0)
            return &walk->calls[i];
    fail_msg("seq %lld %s: no answer has a call %s", (long long)walk->event->seq, walk->event->type_name, id);
    return NULL;
}

static struct call_row *find_ask(struct walk *walk, const char *ask)
{
    for (size_t i = 0; i < walk->call_count; i++)
        if (walk->calls[i].turn == walk->event->turn && strcmp(walk->calls[i].ask, ask ? ask : "?") == 0)
            return &walk->calls[i];
    fail_msg("seq %lld: no open question %s", (long long)walk->event->seq, ask);
    return NULL;
}

static void add_calls(struct walk *walk, const char *text)
{
    const struct json *list = json_parse(&walk->arena, text, strlen(text), NULL);
    json_each (call, list) {
        GROW(walk->calls, walk->call_count, walk->call_room);
        struct call_row *row = &walk->calls[walk->call_count++];
        *row = (struct call_row){.turn = walk->event->turn};
        snprintf(row->id, sizeof(row->id), "%s", json_str(json_get(call, "id"), ""));
        PROMISE(walk, row->id[0] && find_call(walk, row->id) == row);
    }
}

static void check_call(struct walk *walk)
{
    const struct event *event = walk->event;
    struct call_row *row;
    switch (event->type) {
    case EVENT_TOOL_STARTED:
        row = find_call(walk, event->tool_started.call);
        PROMISE(walk, !row->started && !row->finished && !walk->closed);
        row->started = true;
        break;
    case EVENT_TOOL_OUTPUT:
        row = find_call(walk, event->tool_output.call);
        PROMISE(walk, row->started && !row->finished);
        break;
    case EVENT_WRITE_PROPOSED:
        row = find_call(walk, event->write_proposed.call);
        PROMISE(walk, row->started && !row->finished && row->proposed == row->decided && !row->applied);
        row->proposed = true;
        row->decided = row->allowed = row->saved = false;
        snprintf(row->ask, sizeof(row->ask), "%s", event->write_proposed.ask);
        break;
    case EVENT_WRITE_DECIDED:
        row = find_ask(walk, event->write_decided.ask);
        PROMISE(walk, row->proposed && !row->decided && !row->finished && !walk->closed);
        row->decided = true;
        row->allowed = strcmp(event->write_decided.decision, "denied") != 0 &&
                       strcmp(event->write_decided.decision, "expired") != 0;
        if (event->write_decided.reason && strncmp(event->write_decided.reason, "without undo: ", 14) == 0)
            row->saved = true; /* a write without a checkpoint was allowed */
        break;
    case EVENT_CHECKPOINT_SAVED:
        if (!event->checkpoint_saved.call)
            break; /* of an undo */
        row = find_call(walk, event->checkpoint_saved.call);
        PROMISE(walk, row->decided && row->allowed && !row->finished && !walk->closed);
        row->saved = true;
        break;
    case EVENT_WRITE_APPLIED:
        row = find_call(walk, event->write_applied.call);
        PROMISE(walk, row->decided && row->allowed && !row->applied && !row->finished && !walk->closed);
        PROMISE(walk, row->saved || !walk->rig->config.checkpoints || strcmp(event_json(event, "files"), "[]") == 0);
        row->applied = true;
        break;
    case EVENT_TOOL_FINISHED:
        row = find_call(walk, event->tool_finished.call);
        PROMISE(walk, !row->finished && !walk->closed && row->proposed == row->decided);
        row->finished = true;
        break;
    case EVENT_LATE_SUPPRESSED:
        row = find_call(walk, event->late_suppressed.call);
        PROMISE(walk, row->started && row->finished && !row->late);
        row->late = true;
        break;
    default:
        break;
    }
}

static void check_turn(struct walk *walk)
{
    const struct event *event = walk->event;
    switch (event->type) {
    case EVENT_TURN_STARTED:
        PROMISE(walk, walk->turn == 0 && event->turn > 0);
        walk->turn = event->turn;
        walk->closed = walk->finalized = false;
        break;
    case EVENT_MODEL_RESPONDED:
        PROMISE(walk, event->turn == walk->turn && !walk->closed);
        add_calls(walk, event_json(event, "tool_calls"));
        break;
    case EVENT_HELD:
        PROMISE(walk, !walk->held[0]);
        snprintf(walk->held, sizeof(walk->held), "%s", event->held.gate);
        break;
    case EVENT_RELEASED:
        PROMISE(walk, strcmp(walk->held, event->released.gate) == 0);
        walk->held[0] = '\0';
        break;
    case EVENT_WRITES_CLOSED:
        PROMISE(walk, event->turn == walk->turn && !walk->closed);
        walk->closed = true;
        break;
    case EVENT_TURN_FINALIZED:
        PROMISE(walk, event->turn == walk->turn && walk->closed && !walk->finalized);
        walk->finalized = true;
        break;
    case EVENT_TURN_FINISHED:
        PROMISE(walk, event->turn == walk->turn && walk->finalized && !walk->held[0]);
        for (size_t i = 0; i < walk->call_count; i++)
            PROMISE(walk, walk->calls[i].finished);
        walk->turn = 0;
        break;
    default:
        check_call(walk);
        break;
    }
}

void turn_check_promises(const struct turn_rig *rig, bool whole)
{
    CLEANUP(walk) struct walk walk = {.rig = rig};
    const struct session *session = engine_session(rig->engine);
    for (size_t i = 0; i < rig->event_count; i++) {
        walk.event = &rig->events[i];
        PROMISE(&walk, walk.event->seq == (int64_t)i + 1);
        PROMISE(&walk, i == 0 || walk.event->t >= rig->events[i - 1].t);
        PROMISE(&walk, (walk.event->type == EVENT_SESSION_STARTED) == (i == 0));
        check_turn(&walk);
    }
    if (whole)
        assert_int_equal(walk.turn, 0);
    if (session->fault_count)
        fail_msg("the fold found fault: seq %u: %s", session->faults[0].seq, session->faults[0].text);
}

void turn_check_checkpoints(const struct turn_rig *rig)
{
    CLEANUP(free)
    char *list = scratch_exists(&rig->scratch, "checkpoints/.") ? scratch_list(&rig->scratch, "checkpoints") : NULL;
    char *rest = list;
    for (const char *id; (id = strsep(&rest, " ")) && *id;) {
        bool named = false;
        for (size_t i = 0; i < rig->event_count; i++)
            named |= rig->events[i].type == EVENT_CHECKPOINT_SAVED &&
                     strcmp(rig->events[i].checkpoint_saved.checkpoint, id) == 0;
        if (!named)
            fail_msg("no event names the checkpoint %s", id);
    }
}

void turn_check_end(struct turn_rig *rig)
{
    turn_check_promises(rig, true);
    assert_true(engine_idle(rig->engine));
    turn_check_checkpoints(rig);
    turn_rig_release(rig);
}

void turn_check_open(struct turn_rig *rig, const char *journal)
{
    struct err err = ERR_INIT;
    struct journal *file = journal_create(journal, &rig->clock.base, &err);
    if (file)
        rig->engine = engine_new(&rig->config, file, &rig->sink, &err);
    if (!rig->engine)
        fail_msg("%s", err.text);
}

/* ---- lookups ---- */

const char *turn_check_story(struct turn_rig *rig, size_t first)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = first; i < rig->event_count; i++) {
        const struct event *event = &rig->events[i];
        strbuf_addf(&text, "%s%s", text.len ? " " : "", event->type_name);
        if (event->type == EVENT_HELD)
            strbuf_addf(&text, "(%s)", event->held.gate);
        if (event->type == EVENT_RELEASED)
            strbuf_addf(&text, "(%s)", event->released.gate);
        if (event->type == EVENT_TOOL_STARTED)
            strbuf_addf(&text, "(%s)", event->tool_started.call);
        if (event->type == EVENT_TOOL_FINISHED)
            strbuf_addf(&text, "(%s)", event->tool_finished.call);
    }
    return arena_memdup0(&rig->arena, text.buf, text.len);
}

static const char *call_of(const struct event *event)
{
    switch (event->type) {
    case EVENT_TOOL_STARTED:
        return event->tool_started.call;
    case EVENT_TOOL_FINISHED:
        return event->tool_finished.call;
    case EVENT_WRITE_PROPOSED:
        return event->write_proposed.call;
    case EVENT_CHECKPOINT_SAVED:
        return event->checkpoint_saved.call;
    case EVENT_WRITE_APPLIED:
        return event->write_applied.call;
    case EVENT_LATE_SUPPRESSED:
        return event->late_suppressed.call;
    case EVENT_HELD:
        return event->held.call;
    case EVENT_EDITED:
        return event->edited.call;
    default:
        return NULL;
    }
}

size_t turn_check_place(const struct turn_rig *rig, enum event_type type, const char *call, size_t n)
{
    for (size_t i = 0; i < rig->event_count; i++) {
        const struct event *event = &rig->events[i];
        const char *of = call_of(event);
        if (event->type == type && (!call || (of && strcmp(of, call) == 0)) && n-- == 0)
            return i;
    }
    fail_msg("there is no such %s %s", event_type_name(type), call ? call : "");
    return 0;
}

const struct json *turn_check_value(struct turn_rig *rig, const char *json, const char *path)
{
    const struct json *value = json ? json_parse(&rig->arena, json, strlen(json), NULL) : NULL;
    for (const char *at = path; *at && value;) {
        if (*at == '[') {
            value = json_at(value, strtoul(at + 1, NULL, 10));
            at += strcspn(at, "]") + 1;
        } else {
            size_t len = strcspn(at, ".[");
            value = json_get(value, arena_memdup0(&rig->arena, at, len));
            at += len;
        }
        at += *at == '.';
    }
    return value;
}

const char *turn_check_json(struct turn_rig *rig, const char *json, const char *path)
{
    const struct json *value = turn_check_value(rig, json, path);
    if (!value)
        return "";
    if (value->type == JSON_STRING)
        return value->text;
    return arena_memdup0(&rig->arena, value->src, value->src_len);
}

const char *turn_check_outcome(struct turn_rig *rig, const char *call)
{
    const struct event *event = turn_rig_finished(rig, call);
    if (!event)
        return "";
    if (strcmp(event->tool_finished.outcome, "denied") != 0)
        return event->tool_finished.outcome;
    return arena_printf(&rig->arena, "denied:%s", turn_check_json(rig, event_json(event, "denied"), "reason"));
}

const char *turn_check_message(const struct turn_rig *rig, const char *call)
{
    const struct message_list *messages = turn_rig_messages(rig);
    const char *text = NULL;
    for (size_t i = 0; messages && i < messages->count; i++) {
        const struct message *message = &messages->items[i];
        if (message->role != ROLE_TOOL || strcmp(message->call_id, call) != 0)
            continue;
        if (text)
            fail_msg("two tool messages for %s", call);
        text = message->text;
    }
    return text;
}

const struct event_turn_finished *turn_check_finished(const struct turn_rig *rig)
{
    for (size_t i = rig->event_count; i > 0; i--)
        if (rig->events[i - 1].type == EVENT_TURN_FINISHED)
            return &rig->events[i - 1].turn_finished;
    fail_msg("no turn has finished");
    return NULL;
}

const char *turn_check_submit(struct turn_rig *rig, const struct intent *intent)
{
    static struct err err;
    err = (struct err)ERR_INIT;
    return engine_submit(rig->engine, intent, &err) < 0 ? err.text : "";
}

void turn_check_do(struct turn_rig *rig, enum intent_type type)
{
    turn_rig_submit(rig, &(struct intent){.type = type});
    turn_rig_run(rig);
}
