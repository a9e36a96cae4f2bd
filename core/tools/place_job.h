#pragma once
/* One call's work in the session's workspace: on a pool thread the workspace is had (and made, the first time), `act`
 * does its part and, when asked for, the workspace is looked at; back on the loop what happened there is told, in that
 * order, and `then` goes on. So whatever a call did stands in the journal before the call's end. */

#include "base/err.h"
#include "base/loop.h"
#include "tool.h"

struct json_writer;
struct place;
struct place_seen;
struct workspace;

#define PLACE_LONGEST_S 3600 /* of a call that runs a program to its end */

struct place_job {
    struct tool_run *run;
    struct place *place;
    void (*act)(struct place_job *job);  /* on a thread; NULL: nothing but the workspace is wanted. A reply of its own
                                          * kind, or  `failed` and `err` */
    void (*then)(struct place_job *job); /* on the loop; NULL: the reply finishes the call */
    bool look;                           /* tell the state of the workspace */
    void (*release)(struct place_job *job); /* when the call is finished; NULL: the job is freed */
    /* what comes of it */
    struct workspace *ws;
    struct tool_reply reply;
    struct err err;
    bool failed;
    /* its own */
    struct loop_work work;
    struct place_seen *seen;
    bool out, first;
};

void place_job_start(struct place_job *job);
/* The same for a call that runs a program. What the user's list of commands does not allow is refused, and where
 * nothing holds a program somebody must allow it: both before anything is made for it. `command` NULL: it has been
 * checked. */
void place_job_launch(struct place_job *job, const char *command);
/* For `start` of a tool that is nothing but a job. */
void place_job_run(struct tool_run *run, void (*act)(struct place_job *job), bool look);
/* What a program of the call gets of the time that somebody said for it: no more than the config file allows, and than
 * is left of the call's. 0: nothing is left. */
int64_t place_job_time_ms(const struct place_job *job, int64_t said_ms);
/* For a `then` that goes on from `act`; false: the call is over, for that failed or it was cancelled meanwhile. */
bool place_job_goes_on(struct place_job *job);
/* The last round: `act` writes the answer, and the workspace is looked at. */
void place_job_answer(struct place_job *job, void (*act)(struct place_job *job));
/* Cancelled between its rounds. */
void place_job_cancelled(struct place_job *job);
/* Ends the call: with the reply, or with the error when it failed. */
void place_job_finish(struct place_job *job);
/* The same with a sentence. */
void place_job_refuse(struct place_job *job, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a warning to an answer when the workspace holds more than it may (programs are stopped by the size of a file,
 * not by that of all), and when something was moved out of the way, which is said once. Blocks. */
void place_warn(struct json_writer *w, const struct place_job *job);
/* True, and the call is refused, when the session has no place for programs. */
bool place_missing(struct tool_run *run);
/* What a call does that runs a program here. */
enum effect place_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                         const struct json *arguments);
