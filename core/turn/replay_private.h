#pragma once
/* Between replay.c and stand_in.c; nobody else includes it. */

#include "replay.h"
#include "tools/source.h"

struct recorded_turn {
    int64_t number, seq;
    char *prompt;
};

struct recorded_outcome {
    char *call, *tool;
    bool effect_told;
    enum effect effect;
    int64_t deadline_ms;                         /* the hard wait it had */
    const struct event_tool_finished *finished;  /* NULL: the recording ends before it */
    int64_t late_ms;                             /* when a timed-out one came back; -1: never */
    const struct event_write_proposed *proposed; /* NULL: no write was proposed */
    char *lost; /* why they could not be proposed again; NULL: they could, or nobody tried yet */
    bool used;
    struct strbuf told; /* what a script sent, a line each */
};

/* What a call was planned as: one that was never started has no outcome. */
struct recorded_plan {
    char *call;
    enum effect effect;
};

/* The tools from a turn on. */
struct recorded_tools {
    int64_t turn; /* counted from 1, as a run counts them */
    struct event_tool_info_list tools;
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
    struct recorded_plan *plans;
    size_t plan_count, plan_room;
    struct stand_in **stand_ins;
    size_t stand_in_count, stand_in_room;
    struct arena arena;                /* of the events below */
    struct event_tool_info_list tools; /* of session.started */
    struct recorded_tools *changes;    /* after it */
    size_t change_count, change_room;
    struct tool_source source;
    bool scripts;                             /* see recording_stand_ins */
    const struct event_budget_values *limits; /* of the first budget.opened */
    enum thinking_level thinking;
};
