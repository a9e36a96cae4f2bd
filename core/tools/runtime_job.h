#pragma once
/* The work of one call in the session's workspace.
 *
 * A pool thread opens the workspace (and creates it the first time), runs `act` and, if `look` is set, lists the
 * workspace. Back on the loop the job emits what happened, in that order, and calls `then`. So the journal has
 * everything a call did before the call's end. */

#include "base/err.h"
#include "base/loop.h"
#include "tool.h"

struct json_writer;
struct workspace_look;
struct runtime;
struct runtime_seen;
struct workspace;

#define RUNTIME_LONGEST_S 3600 /* longest time of a call that runs a program to its end */

struct runtime_job {
    struct tool_run *run;
    struct runtime *runtime;
    void (*act)(struct runtime_job *job);  /* on a thread: fills `reply`, or sets `failed` and `err`; NULL: only opens
                                            * the workspace */
    void (*then)(struct runtime_job *job); /* on the loop; NULL: the reply finishes the call */
    bool look;                             /* emit the state of the workspace */
    void (*release)(struct runtime_job *job); /* when the call is finished; NULL: the job is freed */
    /* results */
    struct workspace *ws;
    struct tool_reply reply;
    struct err err;
    bool failed;
    /* internal */
    struct loop_work work;
    const struct workspace_look *looked; /* for the warnings, and then for the state; NULL: not yet */
    struct runtime_seen *seen;
    bool out, first;
};

void runtime_job_start(struct runtime_job *job);
/* The same for a call that runs a program. Refuses commands that the user's list does not allow; asks for approval if
 * no sandbox holds the program. Both happen before anything is created. `command` NULL: already checked. */
void runtime_job_launch(struct runtime_job *job, const char *command);
/* For the `start` of a tool that consists of one job. */
void runtime_job_run(struct tool_run *run, void (*act)(struct runtime_job *job), bool look);
/* The time for a program of the call: the requested one, limited by the config file and by what is left of the call's
 * time. 0: nothing is left. */
int64_t runtime_job_time_ms(const struct runtime_job *job, int64_t said_ms);
/* For a `then` that continues after `act`. False: the call is over, because `act` failed or the call was canceled. */
bool runtime_job_goes_on(struct runtime_job *job);
/* Starts the last round: `act` writes the answer, then the workspace is listed. */
void runtime_job_answer(struct runtime_job *job, void (*act)(struct runtime_job *job));
/* Cancels a job between its rounds. */
void runtime_job_cancelled(struct runtime_job *job);
/* Ends the call with the reply, or with the error if the job failed. */
void runtime_job_finish(struct runtime_job *job);
/* The same with an error sentence. */
void runtime_job_refuse(struct runtime_job *job, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds warnings to an answer: the workspace is over its size limit (programs are stopped by the size of one file, not
 * of all), or files were moved out of the way, which is reported once. Blocks. Call it when the workspace is as the
 * call leaves it: the state is listed from the same look. */
void runtime_warn(struct json_writer *w, struct runtime_job *job);
/* Returns true and refuses the call if the session has no runtime. */
bool runtime_missing(struct tool_run *run);
/* The effect of a call that runs a program here. */
enum effect runtime_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                           const struct json *arguments);
