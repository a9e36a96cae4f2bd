#pragma once
/* The data that a recording provides to a run that repeats it: prompts, decisions, edits, and stand-ins for tools.
 *
 * A stand-in answers a recorded call with its recorded outcome after its recorded time. It replaces tools that the
 * recording used and this program does not have. So a transcript with other tools can still be stepped through and
 * checked. */

#include "engine.h"
#include "tools/registry.h"

struct recording;

struct recording *recording_open(const char *path, struct err *err) CHECKED;
void recording_free(struct recording *recording);
const struct journal_reader *recording_reader(const struct recording *recording);
/* The number of turns in the file, and the prompt of one (0-based). */
size_t recording_turn_count(const struct recording *recording);
const char *recording_prompt(const struct recording *recording, size_t index);
/* The number of turns that started up to this seq. */
size_t recording_turns_until(const struct recording *recording, int64_t seq);
int64_t recording_turn_number(const struct recording *recording, size_t index);
/* Overwrites `limits` with the recorded budget, if there is one. */
void recording_limits(const struct recording *recording, struct budget_limits *limits);
/* The recorded system prompt, and whether project instructions followed it. NULL if the recording lacks it. The
 * caller frees it. */
char *recording_reported(const struct recording *recording, bool *instructions);
/* Whether the recorded run compacted its messages. A repetition must do the same. */
bool recording_compacted(const struct recording *recording);
/* The recorded thinking level; reflection depends on it. */
enum thinking_level recording_thinking(const struct recording *recording);
/* Gives the recorded decisions to the rules. */
int recording_decisions(const struct recording *recording, struct rules *rules, struct err *err) CHECKED;
/* Adds a stand-in for each recorded tool that the registry lacks. With `scripts` it also replaces tools that run
 * programs (`real_time`), for a replay that cannot run any. They live as long as the recording, and repeat the
 * recorded events of scripts. */
int recorded_tools_add(struct recording *recording, struct registry *registry, bool scripts, struct err *err) CHECKED;
/* The number of calls that stand-ins have answered so far. */
size_t recording_answered(const struct recording *recording);
/* Why the run could not repeat this call's proposal: the recording lacks a part of it. NULL: it could. */
const char *recording_lost(const struct recording *recording, const char *call);
/* A source that adds and removes tools as in the recording, each before the first turn that had them. Owned by the
 * recording; call after recorded_tools_add. */
struct tool_source *recording_tools(struct recording *recording);
/* A source that repeats the undos and redos of the recording, each before the request that followed it. Owned by the
 * recording. */
struct undo_source *recording_undos(struct recording *recording);
/* The folder of files that belongs to the recording: FILE without its extension; NULL: there is none. */
const char *recording_files(const struct recording *recording);

struct recorded_turn {
    int64_t number, seq;
    char *prompt;
};

struct recorded_outcome {
    char *call, *tool;
    bool effect_text;
    enum effect effect;
    int64_t deadline_ms;                         /* its recorded hard limit */
    const struct event_tool_finished *finished;  /* NULL: the recording ends earlier */
    int64_t late_ms;                             /* when a call that timed out returned; -1: never */
    const struct event_write_proposed *proposed; /* NULL: no write was proposed */
    char *lost; /* why it could not be proposed again; NULL: it could, or was not tried yet */
    bool used;
    struct strbuf told; /* events that a script sent, one per line */
};

/* The planned effect of a call. A call that was never started has no outcome. */
struct recorded_plan {
    char *call;
    enum effect effect;
};

/* The tools from a turn on. */
struct recorded_tools {
    int64_t turn; /* counted from 1, as in a run */
    struct event_tool_info_list tools;
};

/* An undo or redo, and the request that it came before. */
struct recorded_undo {
    int64_t turn, step; /* both count from 1; step may be UNDO_AFTER_TURN */
    const char *call;   /* whose write it is, … */
    int64_t of_turn;    /* … and its turn */
    bool redo;
};

struct recorded_tool {
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
    struct recorded_tool **recorded_tools;
    size_t recorded_tool_count, recorded_tool_room;
    struct arena arena;                /* holds the events below */
    struct event_tool_info_list tools; /* of session.started */
    struct recorded_tools *changes;    /* later changes */
    size_t change_count, change_room;
    struct tool_source source;
    struct recorded_undo *undos;
    size_t undo_count, undo_room, undo_next;
    struct undo_source undo_source;
    bool scripts;                             /* see recorded_tools_add */
    const struct event_budget_values *limits; /* of the first turn that has some, as raised */
    int64_t limits_turn;
    enum thinking_level thinking;
};
