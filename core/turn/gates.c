/* Decides whether a turn pauses at a gate, and holds it there.
 *
 * gates_hold answers two separate questions: does stepping pause here, and does a breakpoint? Stepping looks only at
 * the kind of gate. After a tool and at a budget the user has nothing to decide, so only a breakpoint pauses there.
 * Breakpoints come first because their text says more than "step".
 *
 * turn_hold pauses. Holds queue up: several calls of a wave may stop at once, but the user looks at one at a time. So
 * only the first is "held" in the journal, and the clocks stop as long as the queue is not empty. gate_redact removes
 * secrets from what the screen shows of a hold. */

#include "gates.h"
#include "base/arena.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "turn.h"
#include "workspace/glob.h"
#include <string.h>

static const struct {
    const char *name, *brief;
    bool steps;   /* stepping pauses here */
    bool in_wave; /* STEP_WAVE passes it */
} gate_table[GATE_COUNT] = {
    [GATE_MODEL] = {"before model", "model", true, false},
    [GATE_ANSWER] = {"after answer", "answer", true, false},
    [GATE_WAVE] = {"before wave", "wave", true, false},
    [GATE_TOOL] = {"before tool", "tool", true, true},
    [GATE_WRITE] = {"before write", "write", true, true},
    [GATE_RESULT] = {"after tool", "result", false, true},
    [GATE_REFLECT] = {"before reflection", "reflect", true, false},
    [GATE_FINALIZE] = {"before finalizing", "finalize", true, false},
    [GATE_BUDGET] = {"at budget", "budget", false, false},
};

static const char *const kind_names[] = {
    [BREAK_TOOL] = "tool",       [BREAK_EFFECT] = "effect", [BREAK_PATH] = "path",
    [BREAK_OUTCOME] = "outcome", [BREAK_BUDGET] = "budget", [BREAK_GATE] = "gate",
};

const char *gate_name(enum gate gate)
{
    return gate_table[gate].name;
}

int gate_from_name(const char *name)
{
    for (int gate = 0; name && gate < GATE_COUNT; gate++)
        if (strcmp(name, gate_table[gate].name) == 0 || strcmp(name, gate_table[gate].brief) == 0)
            return gate;
    return -1;
}

void gates_init(struct gates *gates)
{
    *gates = (struct gates){.stepping = STEP_RUN, .next_id = 1};
}

static void break_release(struct breakpoint *point)
{
    free(point->value);
    free(point->text);
    glob_free(point->glob);
}

void gates_release(struct gates *gates)
{
    for (size_t i = 0; i < gates->count; i++)
        break_release(&gates->breaks[i]);
    free(gates->breaks);
    gates_init(gates);
}

/* "80%" or "80" → 0.8; -1 if it is neither. */
static double read_share(const char *text)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    size_t len = strlen(text);
    if (len && text[len - 1] == '%')
        len--;
    double percent = json_num(json_parse(&arena, text, len, NULL), -1);
    return percent > 0 && percent <= 100 ? percent / 100 : -1;
}

static int outcome_from_name(const char *name)
{
    for (int type = OUTCOME_RESULT; type <= OUTCOME_ARTIFACT; type++)
        if (strcmp(name, outcome_type_name((enum outcome_type)type)) == 0)
            return type;
    return -1;
}

static int check_value(struct breakpoint *point, struct err *err)
{
    const char *value = point->value;
    switch (point->kind) {
    case BREAK_TOOL:
        break;
    case BREAK_PATH:
        point->glob = glob_new(value, err);
        return point->glob ? 0 : -1;
    case BREAK_EFFECT:
        if (effect_from_name(value) == EFFECT_UNKNOWN)
            return err_set(err, "unknown effect \"%.60s\" (READ_ONLY, LOCAL_WRITE, NETWORK or DESTRUCTIVE)", value);
        break;
    case BREAK_OUTCOME:
        if (outcome_from_name(value) < 0)
            return err_set(err, "unknown outcome \"%.60s\" (result, timeout, failure, denied or artifact)", value);
        break;
    case BREAK_BUDGET:
        point->share = read_share(value);
        if (point->share < 0)
            return err_set(err, "a budget breakpoint takes a share up to 100%%, as in budget=80%%, not \"%.60s\"",
                           value);
        break;
    case BREAK_GATE:
        if (gate_from_name(value) < 0)
            return err_set(err,
                           "unknown gate \"%.60s\" (model, answer, wave, tool, write, result, reflect, finalize "
                           "or budget)",
                           value);
        break;
    }
    return 0;
}

static int unknown_kind(const char *spec, struct err *err)
{
    CLEANUP(free) char *wanted = xmemdup0(spec, strcspn(spec, "="));
    struct nearest near = nearest_to(wanted);
    for (size_t kind = 0; kind < COUNT_OF(kind_names); kind++)
        nearest_offer(&near, kind_names[kind]);
    if (near.best)
        return err_set(err, "cannot break on \"%.60s\" (did you mean %s=…?)", spec, near.best);
    return err_set(err,
                   "cannot break on \"%.60s\" (understood: tool=NAME, effect=CLASS, path=GLOB, outcome=TYPE, "
                   "budget=N%%, gate=NAME)",
                   spec);
}

int gates_break(struct gates *gates, const char *spec, struct err *err)
{
    const char *value = strchr(spec, '=');
    size_t kind = COUNT_OF(kind_names);
    for (size_t i = 0; value && i < COUNT_OF(kind_names); i++)
        if (strlen(kind_names[i]) == (size_t)(value - spec) &&
            strncmp(spec, kind_names[i], (size_t)(value - spec)) == 0)
            kind = i;
    if (kind == COUNT_OF(kind_names))
        return unknown_kind(spec, err);
    if (!*++value)
        return err_set(err, "the breakpoint %.60s needs a value", spec);
    struct breakpoint point = {.id = gates->next_id,
                               .kind = (enum break_kind)kind,
                               .value = xstrdup(value),
                               .text = xstrdup(spec),
                               .enabled = true};
    if (check_value(&point, err)) {
        break_release(&point);
        return -1;
    }
    GROW(gates->breaks, gates->count, gates->room);
    gates->breaks[gates->count++] = point;
    return gates->next_id++;
}

static struct breakpoint *find_break(struct gates *gates, int id)
{
    for (size_t i = 0; i < gates->count; i++)
        if (gates->breaks[i].id == id)
            return &gates->breaks[i];
    return NULL;
}

bool gates_remove(struct gates *gates, int id)
{
    struct breakpoint *point = find_break(gates, id);
    if (!point)
        return false;
    break_release(point);
    size_t after = gates->count - (size_t)(point - gates->breaks) - 1;
    memmove(point, point + 1, after * sizeof(*point));
    gates->count--;
    return true;
}

bool gates_enable(struct gates *gates, int id, bool enabled)
{
    struct breakpoint *point = find_break(gates, id);
    if (point)
        point->enabled = enabled;
    return point != NULL;
}

void gates_turn_started(struct gates *gates)
{
    for (size_t i = 0; i < gates->count; i++)
        gates->breaks[i].hit = false;
}

/* The model may write "./src/a.c" where the user's breakpoint is on src/a.c. */
static bool path_matches(const struct glob *glob, const char *path)
{
    while (path[0] == '.' && path[1] == '/')
        path += 2 + strspn(path + 2, "/");
    return glob_match(glob, path);
}

/* Compares both the path as written and its target after links, so that no spelling evades a breakpoint. */
static bool leads_to_match(const struct glob *glob, const struct beneath *root, const char *path)
{
    struct err ignored = ERR_INIT;
    struct beneath_place place;
    if (path_matches(glob, path))
        return true;
    if (!root || beneath_resolve(root, path, &place, &ignored) < 0)
        return false;
    bool found = glob_match(glob, place.path);
    beneath_place_release(&place);
    return found;
}

/* The paths in the arguments, and the paths of the proposed write once it is known. */
static bool touches(const struct glob *glob, const struct gate_view *view)
{
    static const char *const names[] = {"path", "from", "to"};
    if (view->gate == GATE_TOOL)
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            const char *path = json_str(json_get(view->arguments, names[i]), NULL);
            if (path && leads_to_match(glob, view->root, path))
                return true;
        }
    if (view->gate == GATE_WRITE && view->changes)
        for (size_t i = 0; i < view->changes->count; i++) {
            const struct change *change = &view->changes->items[i];
            if (path_matches(glob, change->path) || (change->through && path_matches(glob, change->through)))
                return true;
        }
    return false;
}

static bool matches(struct breakpoint *point, const struct gate_view *view)
{
    switch (point->kind) {
    case BREAK_TOOL:
        return view->gate == GATE_TOOL && view->tool && strcmp(view->tool->spec.name, point->value) == 0;
    case BREAK_EFFECT:
        return view->gate == GATE_TOOL && view->tool && view->effect == effect_from_name(point->value);
    case BREAK_PATH:
        return touches(point->glob, view);
    case BREAK_OUTCOME:
        return view->gate == GATE_RESULT && view->outcome &&
               (int)view->outcome->type == outcome_from_name(point->value);
    case BREAK_BUDGET:
        return !point->hit && view->budget_share >= point->share;
    case BREAK_GATE:
        return (int)view->gate == gate_from_name(point->value);
    }
    return false;
}

/* Checks all breakpoints, so that a matching budget breakpoint is used up even if another one is reported. */
static const struct breakpoint *break_here(struct gates *gates, const struct gate_view *view)
{
    const struct breakpoint *first = NULL;
    for (size_t i = 0; i < gates->count; i++) {
        struct breakpoint *point = &gates->breaks[i];
        if (!point->enabled || !matches(point, view))
            continue;
        point->hit = true;
        if (!first)
            first = point;
    }
    return first;
}

static bool steps_here(const struct gates *gates, enum gate gate)
{
    switch (gates->stepping) {
    case STEP_RUN:
        return false;
    case STEP_INTO:
        return gate_table[gate].steps;
    case STEP_WAVE:
        return gate_table[gate].steps && !gate_table[gate].in_wave;
    }
    return false;
}

const char *gates_hold(struct gates *gates, const struct gate_view *view, int *breakpoint)
{
    const struct breakpoint *point = break_here(gates, view);
    const char *why = point ? point->text : NULL;
    *breakpoint = point ? point->id : 0;
    if (!why && gates->pause && gate_table[view->gate].steps)
        why = "pause";
    if (!why && steps_here(gates, view->gate))
        why = "step";
    if (why)
        gates->pause = false; /* the requested pause happens here */
    return why;
}

/* ---- holding ---- */

static void emit_held(struct turn *turn)
{
    const struct hold *hold = turn->holds;
    hold_clock_stop(&turn->clock);
    emit(&turn->emitter,
         &(struct event){.type = EVENT_HELD,
                         .held = {.gate = gate_name(hold->gate), .call = hold->call ? hold->call->id : NULL}});
    turn_clock_changed(turn);
}

void turn_hold(struct turn *turn, const struct hold *hold)
{
    struct hold *copy = xcalloc(1, sizeof(*copy));
    struct hold **place = &turn->holds;
    *copy = *hold;
    copy->why = xstrdup(hold->why);
    while (*place)
        place = &(*place)->next;
    *place = copy;
    if (turn->holds == copy)
        emit_held(turn);
}

bool turn_hold_at(struct turn *turn, const struct gate_view *view, struct turn_call *call,
                  void (*go)(struct turn *, struct turn_call *))
{
    int breakpoint;
    if (turn->cancelled)
        return false;
    const char *why = gates_hold(engine_gates_mutable(turn->engine), view, &breakpoint);
    if (!why)
        return false;
    if (!turn->config->interactive) {
        /* No user can continue it. The journal shows where the turn would have paused. */
        const char *gate = gate_name(view->gate);
        emit(&turn->emitter,
             &(struct event){.type = EVENT_HELD, .held = {.gate = gate, .call = call ? call->id : NULL}});
        emit(&turn->emitter, &(struct event){.type = EVENT_RELEASED, .released = {.gate = gate, .by = "nobody"}});
        return false;
    }
    bool at_limit = view->gate == GATE_FINALIZE && !turn->ending;
    turn_hold(turn, &(struct hold){.gate = view->gate,
                                   .why = (char *)why,
                                   .limit = at_limit ? turn->reached : -1,
                                   .breakpoint = breakpoint,
                                   .call = call,
                                   .go = go});
    return true;
}

void turn_release(struct turn *turn, const char *by)
{
    struct hold *hold = turn->holds;
    turn->holds = hold->next;
    emit(&turn->emitter,
         &(struct event){.type = EVENT_RELEASED, .released = {.gate = gate_name(hold->gate), .by = by}});
    hold_clock_go(&turn->clock);
    if (turn->holds)
        emit_held(turn);
    else
        turn_clock_changed(turn);
    hold->go(turn, hold->call);
    free(hold->why);
    free(hold);
}

void turn_release_all(struct turn *turn, const char *by)
{
    while (turn->holds)
        turn_release(turn, by);
}

/* ---- redaction ---- */

struct gate_redaction {
    char *arguments, *result;
    struct message_list messages;
};

struct gate_redaction *gate_redact_new(void)
{
    struct gate_redaction *redacted = xcalloc(1, sizeof(*redacted));
    message_list_init(&redacted->messages);
    return redacted;
}

void gate_redact_free(struct gate_redaction *redacted)
{
    free(redacted->arguments);
    free(redacted->result);
    message_list_release(&redacted->messages);
    free(redacted);
}

/* Arguments of a model may be invalid JSON. */
static char *redacted_copy(const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (!text || json_check(text, strlen(text), JSON_DEPTH_MAX) != strlen(text))
        return redact_copy(text);
    return redact_json(&out, text, strlen(text)) ? strbuf_detach(&out, NULL) : xstrdup(text);
}

static void replace_redacted(char **redacted, const char **text)
{
    char *now = redacted_copy(*text);
    if (*redacted && now && strcmp(*redacted, now) == 0) {
        free(now); /* the caller of the previous gate_redact may still use it */
    } else {
        free(*redacted);
        *redacted = now;
    }
    *text = *redacted;
}

static void redact_message(struct message *message)
{
    char *text = redacted_copy(message->text);
    free(message->text);
    message->text = text;
    for (size_t i = 0; i < message->call_count; i++) {
        text = redacted_copy(message->calls[i].arguments);
        free(message->calls[i].arguments);
        message->calls[i].arguments = text;
    }
}

void gate_redact(struct gate_redaction *redacted, struct held_view *view)
{
    if (!redact_any())
        return;
    replace_redacted(&redacted->arguments, &view->arguments);
    replace_redacted(&redacted->result, &view->result);
    if (!view->messages)
        return;
    message_list_release(&redacted->messages);
    message_list_copy(&redacted->messages, view->messages);
    for (size_t i = 0; i < redacted->messages.count; i++)
        redact_message(&redacted->messages.items[i]);
    view->messages = &redacted->messages;
}
