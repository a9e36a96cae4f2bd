#pragma once
/* Gates and breakpoints: whether the turn stops here. Being held is state of the turn; whether to hold is decided here;
 * going on is an intent of the user. */

#include "base/err.h"
#include "tools/outcome.h"
#include "tools/tool.h"

struct glob;

enum gate {
    GATE_MODEL,    /* before the model is asked */
    GATE_ANSWER,   /* after it answered */
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
    STEP_RUN,  /* only breakpoints hold */
    STEP_INTO, /* the next gate holds */
    STEP_WAVE, /* the next gate that is not inside the present wave holds */
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
    bool hit;     /* BREAK_BUDGET holds once per turn */
};

struct gates {
    enum stepping stepping;
    bool pause;  /* hold at the next gate, once */
    bool serial; /* no waves of several calls */
    struct breakpoint *breaks;
    size_t count, room;
    int next_id;
};
void gates_init(struct gates *gates);
void gates_release(struct gates *gates);
/* "tool=write_file" → its id, or -1 with a text that says what is understood. */
int gates_break(struct gates *gates, const char *spec, struct err *err) CHECKED;
bool gates_remove(struct gates *gates, int id);
bool gates_enable(struct gates *gates, int id, bool enabled);
void gates_turn_started(struct gates *gates); /* budget breakpoints are armed again */

/* What stands at the gate; fields that do not apply are NULL, -1 or 0. */
struct gate_view {
    enum gate gate;
    const struct tool *tool;
    enum effect effect; /* of the call */
    const struct json *arguments;
    const struct beneath *root; /* that paths in the arguments are resolved beneath */
    const struct change_set *changes;
    const struct outcome *outcome;
    double budget_share; /* the largest used share of a limit */
};
/* Why it holds here: "step", "pause", or the breakpoint's text ("tool=write_file"); NULL when it does not. The text
 * lives until the gates change. `breakpoint` is the id of the breakpoint, 0 without one. */
const char *gates_hold(struct gates *gates, const struct gate_view *view, int *breakpoint);
