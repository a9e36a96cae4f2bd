#pragma once
/* The question about a write, from a tool's proposal to the bytes on disk. The turn owns it and one machine moves it
 * (write.c); the screen shows it and answers with its id and digest. */

#include "base/loop.h"
#include "decision.h"
#include "tools/bounded.h"
#include "tools/protected.h"

struct turn;
struct turn_call;

enum question_state {
    Q_DIFFING,    /* the pool compares the files; the clocks are stopped, but the user is not asked yet */
    Q_GATE,       /* paused at the write gate by a breakpoint or stepping; the rules have not decided yet */
    Q_OPEN,       /* the user is asked */
    Q_CHECKING,   /* approved: the pool compares with the disk and saves the old bytes */
    Q_COMMITTING, /* the bytes are being written, or the tool that writes itself runs */
    Q_RUNNING,    /* the files changed since the proposal: the tool runs again and makes a new one */
    Q_CLOSED,     /* denied, or its call ended; a job may still run */
};

struct question {
    /* For the screen, in state Q_OPEN. */
    char id[24];
    const char *call_id, *tool;
    char digest[HASH_SHA256_HEX]; /* of the changes; an approval must name it */
    struct change_set *changes;   /* as proposed, counted */
    struct diff **diffs;          /* one per change, made once on the pool; NULL entry: the diff failed */
    int64_t since_us;             /* on the loop's clock */
    int64_t due_us;               /* when it expires; 0: never */
    bool again;                   /* the files changed after an earlier version of the question */
    bool moved;                   /* with again: a folder was moved or replaced */
    char *named;                  /* "names a protected path: …", for a call that shows no files; NULL: none */
    char *no_undo;                /* why the old bytes could not be saved, which caused this second question; NULL:
                                   * they could */
    struct change_set *revised;   /* the user's own version so far; NULL: none */
    struct diff **revised_diffs;  /* one per file of it, also from the pool */
    unsigned revision;            /* number of that version; 0: the proposal */
    bool revising;                /* a new version is being compared: no approval and no revision meanwhile */
    struct decision decision;     /* the earlier choice, if the question is asked again without undo */

    /* Internal state of the machine. */
    enum question_state state;
    struct turn *turn;
    struct turn_call *call;
    struct bounded_call *running;
    bool tool_writes;           /* the tool commits; otherwise Keyturn does */
    bool recorded;              /* write.proposed is in the journal */
    bool job_out;               /* a job is on the pool … */
    bool awaited;               /* … and the executor waits for it */
    struct change_set *written; /* the changes after the decision */
    char *checkpoint;
    int failed; /* of the last job, with its error */
    struct err err;
    struct strbuf note;        /* for the model, if the bytes written differ from the proposal */
    struct output_shape reply; /* the model's result of a write by Keyturn */
    struct arena arena;        /* holds `files`, the id of the call and the name of the tool */
    struct event_proposed_file_list files;
    struct named names; /* texts of a call without files that may be paths */
    struct loop_timer expiry;
    struct loop_work work;
};

/* Starts the question for a tool's proposal: bounded_host's `propose`. */
void write_propose(struct bounded_host *host, struct bounded_call *running, struct change_set *take_changes,
                   bool tool_writes);
/* Answers the open question. The id must match and, unless the decision denies, also the digest and revision on
 * screen; otherwise the answer is refused. The decision is copied. */
int write_answer(struct turn *turn, const char *id, const char *digest, unsigned revision,
                 const struct decision *decision, struct err *err) CHECKED;
/* Replaces the user's version of the open question. The pool compares it; then it becomes `revised`. The set is
 * copied. */
int write_revise(struct turn *turn, const char *id, const struct change_set *version, struct err *err) CHECKED;
/* Restarts the countdown of the open question, because the user works on it. */
void write_touch(struct turn *turn);
/* Denies an undecided question, because the turn is canceled. */
void write_cancel(struct turn *turn);
/* Closes the question of a call that was settled. */
void write_call_gone(struct turn *turn, const struct turn_call *call);
void question_free(struct question *question);
