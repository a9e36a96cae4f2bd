#pragma once
/* Internals of the fold, shared by the session_*.c files. No other file includes this. */

#include "base/arena.h"
#include "base/json.h"
#include "session.h"

/* An interned text, and the rows it is the id of. */
struct session_name {
    uint32_t start;              /* offset of its text */
    uint32_t call;               /* newest row with this id, SESSION_NONE */
    uint32_t ask;                /* newest row with this id, SESSION_NONE */
    uint32_t checkpoint;         /* the ask whose checkpoint has this name */
    uint32_t program, workspace; /* newest rows with this id */
    bool redoes;                 /* an undo saved this checkpoint: restoring it redoes the write */
};

struct session_names {
    struct strbuf texts;        /* all texts, each with its NUL */
    struct session_name *names; /* by number; 0 is "" */
    uint32_t count, room;
    uint32_t *slots;        /* open addressing; numbers, 0: free */
    uint32_t slot_room;     /* a power of two */
    uint32_t kept_for_undo; /* the checkpoint of the undo in progress, 0: none */
    uint32_t *older_call;   /* by row of calls: the row before it with the same id, SESSION_NONE */
    uint32_t older_room;
    struct arena scratch; /* for the event being applied */
    struct strbuf words;
};

struct session_names *session_names_new(void);
void session_names_free(struct session_names *names);
/* The number of a text, which it gets if it has none; 0 for NULL and "". */
uint32_t session_intern(struct session *session, const char *text);
/* The number of a text that has one, else 0. */
uint32_t session_interned(const struct session *session, const char *text);

/* One event while it is applied to the session. */
struct fold {
    struct session *session;
    const struct event *event;
    uint32_t seq;
    int64_t t;
};

/* Records that the event makes no sense here: "tool.started: " and the text. */
void fold_fault(const struct fold *fold, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Parses a JSON field, valid until the event is applied. NULL if it is missing, or larger than any of ours. */
const struct json *fold_json(const struct fold *fold, const char *text);
/* A text for a row. */
const char *fold_text(const struct fold *fold, const char *text);
/* The newest turn if the event can add to it; else NULL, and records a fault. */
struct session_turn *fold_turn(const struct fold *fold);
/* Row of the step with this number in the newest turn, added if it is the next one. 0: the current step, or a new
 * one. SESSION_NONE and a fault if it is neither. */
uint32_t fold_step(const struct fold *fold, struct session_turn *turn, int64_t number);

/* session_calls.c: calls and questions. */
void fold_answer_calls(const struct fold *fold, struct session_turn *turn, uint32_t step);
void fold_waves_planned(const struct fold *fold);
void fold_tool_started(const struct fold *fold);
void fold_edited(const struct fold *fold);
void fold_tool_output(const struct fold *fold);
void fold_script_event(const struct fold *fold);
void fold_write_proposed(const struct fold *fold);
void fold_write_decided(const struct fold *fold);
void fold_checkpoint_saved(const struct fold *fold);
void fold_write_applied(const struct fold *fold);
void fold_write_undone(const struct fold *fold);
void fold_write_redone(const struct fold *fold);
void fold_tool_finished(const struct fold *fold);
void fold_late_suppressed(const struct fold *fold);
/* Row of the call with this id in the event's turn or an older one, SESSION_NONE when there is none. */
uint32_t fold_find_call(const struct fold *fold, const char *id);
/* Number of calls of the turn without an outcome. */
uint32_t fold_unfinished_calls(const struct session *session, const struct session_turn *turn);

/* session_programs.c: programs that outlive their call, and their workspaces. */
void fold_workspace_state(const struct fold *fold);
void fold_workspace_op(const struct fold *fold);
void fold_program_started(const struct fold *fold);
void fold_program_output(const struct fold *fold);
void fold_program_input(const struct fold *fold);
void fold_program_ended(const struct fold *fold);
/* The session ended: marks programs that still ran as left. */
void fold_programs_left(struct session *session);
