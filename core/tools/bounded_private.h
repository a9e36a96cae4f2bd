#pragma once
/* Between bounded.c and bounded_write.c; nobody else includes it. */

#include "base/arena.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "bounded.h"
#include "output.h"
#include <stddef.h>

enum phase { STARTING, RUNNING, ASKING, CHECKING, SAVING, COMMITTING, STORING, SETTLED };
enum out { OUT_NOTHING, OUT_TOOL, OUT_JOB };

struct bounded_call {
    struct bounded_host *host;
    struct loop *loop;
    const struct tool *tool;
    char *id;
    struct arena arena; /* of the arguments */
    const struct json *arguments;
    void *data;

    enum phase phase;
    enum out out;
    bool delivered; /* host->done has returned */
    bool back;      /* settled, and what was out has come back */
    struct emitter emitter; /* what the tool emits through */
    struct tool_run run;
    struct tool_reply reply;   /* filled on the pool by a `work` tool */
    struct output_shape shape; /* of its output; made there too */
    struct loop_task task;
    struct loop_work work;

    struct loop_timer timer;
    double cap_s, deadline_s;
    int64_t turn_due_us, due_us, started_us; /* on the hold clock, as are the next two */
    int64_t asked_us;
    int64_t paused_us;  /* sum of questions that the hold clock ran through */
    int64_t elapsed_us; /* when settled */
    int64_t queued_us;  /* when the execution was given to the pool, on the loop's clock */
    bool counted;       /* the time it waited there has been taken off */

    bool foreign; /* asked in words: there is no change set to show or commit */
    bool again;   /* the question was asked before */
    bool moved;   /* because a folder was moved or replaced */
    char *no_undo; /* why the old bytes could not be kept the last time; NULL: they could, or nobody tried */
    struct change_set *proposed, *written;
    struct citation *citations; /* of a call that is done */
    size_t citation_count;
    struct verdict verdict;

    /* What a job is given and brings back. */
    int failed;
    struct err err;
    struct strbuf note; /* for the model, when it is not what was proposed that is written */
    char *checkpoint;
    char *full;
    size_t full_len;
    bool noted; /* what was approved stands in the output */
    char *cut; /* instead, when it cannot be stored */
    struct artifact *stored;

    struct outcome outcome;
};

#define CALL_OF(pointer, member) CONTAINER_OF(pointer, struct bounded_call, member)

/* bounded.c */
/* 0, or -1 when it could not be recorded. */
int bounded_emit(struct bounded_call *call, struct event *event);
static inline int64_t bounded_hold_now(const struct bounded_call *call)
{
    return hold_clock_now(call->host->clock);
}
int64_t bounded_hard_wait_us(const struct bounded_call *call);
void bounded_enter(struct bounded_call *call, enum phase phase);
void bounded_run_tool(struct bounded_call *call, enum phase phase, double cap_s);
void bounded_start_job(struct bounded_call *call, enum phase phase, void (*run)(struct loop_work *));
void bounded_settle_denied(struct bounded_call *call, enum denial reason, const char *details);
void bounded_settle_failed(struct bounded_call *call, bool retryable, const char *error);

/* bounded_write.c */
void bounded_ask(struct bounded_call *call, struct change_set *take_proposed, bool foreign);
void bounded_checked(struct bounded_call *call); /* the job of CHECKING came back */
void bounded_saved(struct bounded_call *call);   /* that of SAVING */
