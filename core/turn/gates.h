#pragma once
/* Gates and breakpoints: the points where a turn can pause, and what makes it pause there. This module decides whether
 * to pause; the turn holds the pause (turn_hold); the user ends it with an intent. */

#include "base/err.h"
#include "tools/outcome.h"
#include "tools/tool.h"

struct glob;

enum gate {
    GATE_MODEL,    /* before a request to the model */
    GATE_ANSWER,   /* after its answer */
    GATE_WAVE,     /* before a wave */
    GATE_TOOL,     /* before a tool */
    GATE_WRITE,    /* before a write is decided */
    GATE_RESULT,   /* after a tool ended, when a breakpoint on the outcome matched */
    GATE_REFLECT,  /* before reflection */
    GATE_FINALIZE, /* before finalizing */
    GATE_BUDGET,   /* a budget ended or passed a share */
    GATE_COUNT
};
const char *gate_name(enum gate gate); /* "before model", "after answer", "before wave" … */
int gate_from_name(
    const char *name); /* also the short names: model answer wave tool write result reflect finalize budget */

enum stepping {
    STEP_RUN,  /* only breakpoints pause */
    STEP_INTO, /* pause at the next gate */
    STEP_WAVE, /* pause at the next gate outside of the current wave */
};

/* tool=NAME, effect=CLASS, path=GLOB, outcome=TYPE, budget=N%, gate=NAME. */
enum break_kind { BREAK_TOOL, BREAK_EFFECT, BREAK_PATH, BREAK_OUTCOME, BREAK_BUDGET, BREAK_GATE };
struct breakpoint {
    int id;
    enum break_kind kind;
    char *value;
    char *text;        /* "tool=write_file" */
    struct glob *glob; /* of BREAK_PATH */
    bool enabled;
    double share; /* of BREAK_BUDGET */
    bool hit;     /* BREAK_BUDGET pauses once per turn */
};

struct gates {
    enum stepping stepping;
    bool pause;  /* pause at the next gate, once */
    bool serial; /* no waves of several calls */
    struct breakpoint *breaks;
    size_t count, room;
    int next_id;
};
void gates_init(struct gates *gates);
void gates_release(struct gates *gates);
/* "tool=write_file" → its id, or -1 with an error that lists the valid forms. */
int gates_break(struct gates *gates, const char *spec, struct err *err) CHECKED;
bool gates_remove(struct gates *gates, int id);
bool gates_enable(struct gates *gates, int id, bool enabled);
void gates_turn_started(struct gates *gates); /* rearms budget breakpoints */

/* The object at the gate; fields that do not apply are NULL, -1 or 0. */
struct gate_view {
    enum gate gate;
    const struct tool *tool;
    enum effect effect; /* of the call */
    const struct json *arguments;
    const struct beneath *root; /* the folder that paths in the arguments are relative to */
    const struct change_set *changes;
    const struct outcome *outcome;
    double budget_share; /* the largest used share of a limit */
};
/* Why the turn pauses here: "step", "pause", or the breakpoint's text ("tool=write_file"); NULL: it does not. The
 * text is valid until the gates change. `breakpoint` is the id of the breakpoint, or 0. */
const char *gates_hold(struct gates *gates, const struct gate_view *view, int *breakpoint);
