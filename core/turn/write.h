#pragma once
/* The question about a write: from a tool's proposal to the bytes on disk. There is one home for it, and one machine
 * that moves it (write.c); the screen shows what is here and answers by id and digest. */

#include "base/loop.h"
#include "decision.h"
#include "tools/bounded.h"
#include "tools/named.h"

struct turn;
struct turn_call;

enum question_state {
    Q_DIFFING,    /* the pool compares the files; the clocks stand still, but nobody is asked yet */
    Q_GATE,       /* at the write gate, with a breakpoint or stepping; the rules have not been asked */
    Q_OPEN,       /* a person is asked */
    Q_CHECKING,   /* approved: the pool compares with the disk and keeps the old bytes */
    Q_COMMITTING, /* the bytes are on their way, or the tool that writes itself runs */
    Q_RUNNING,    /* the files were not what was shown: the tool runs again and proposes anew */
    Q_CLOSED,     /* denied, or its call is gone; a job of it may still be out */
};

struct question {
    /* For whoever shows it, in state Q_OPEN. */
    char id[24];
    const char *call_id, *tool;
    char digest[HASH_SHA256_HEX]; /* of the changes: what an approval refers to */
    struct change_set *changes;   /* as proposed, counted */
    struct diff **diffs;          /* of each; made once, on the pool. NULL entries: it could not be made */
    int64_t since_us;             /* on the loop's clock */
    int64_t due_us;               /* when it expires; 0: it waits for ever */
    bool again;                   /* the files changed under an earlier version of it */
    bool moved;                   /* with again: a folder was moved or replaced */
    char *named;                  /* "names a protected place: …", of a call that shows no files; NULL: it does not */
    char *no_undo;                /* asked again, because the old bytes could not be kept: why; NULL: they could */
    struct change_set *revised;   /* the user's own version so far; NULL: there is none */
    struct diff **revised_diffs;  /* of each of its files, likewise from the pool */
    unsigned revision;            /* the number of that version; 0: the proposal */
    bool revising;                /* a version is on its way: nothing is approved or revised meanwhile */
    struct decision decision;     /* of a question that is asked again without undo: what was chosen before */

    /* The machine's own. */
    enum question_state state;
    struct turn *turn;
    struct turn_call *call;
    struct bounded_call *running;
    bool tool_writes;           /* the tool commits; else we do */
    bool recorded;              /* write.proposed is in the journal */
    bool job_out;               /* a job of it is on the pool … */
    bool awaited;               /* … for which the executor waits */
    struct change_set *written; /* what the decision makes of the changes */
    char *checkpoint;
    int failed; /* of the job that came back, with its error */
    struct err err;
    struct strbuf note;        /* for the model, when it is not what was proposed that is written */
    struct output_shape reply; /* what the model reads of a write of ours */
    struct arena arena;        /* holds `files`, the id of the call and the name of the tool */
    struct event_proposed_file_list files;
    struct named names; /* the texts of a call without files, which may be paths */
    struct loop_timer expiry;
    struct loop_work work;
};

/* A tool proposed: bounded_host's `propose`. */
void write_propose(struct bounded_host *host, struct bounded_call *running, struct change_set *take_changes,
                   bool tool_writes);
/* Answers the open question. The id must be its id and, unless the decision denies, digest and revision those of what
 * is shown: an answer to something else is refused. The decision is copied. */
int write_answer(struct turn *turn, const char *id, const char *digest, unsigned revision,
                 const struct decision *decision, struct err *err) CHECKED;
/* The user has another version of the open question: it is compared on the pool, and then is the question's `revised`.
 * The set is copied. */
int write_revise(struct turn *turn, const char *id, const struct change_set *version, struct err *err) CHECKED;
/* The user works on the open question: it expires later. */
void write_touch(struct turn *turn);
/* The turn is cancelled: denies whatever is undecided. */
void write_cancel(struct turn *turn);
/* The call was settled: whatever is left of its question is closed. */
void write_call_gone(struct turn *turn, const struct turn_call *call);
void question_free(struct question *question);
