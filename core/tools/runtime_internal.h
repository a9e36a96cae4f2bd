#pragma once
/* The state of a runtime, shared by runtime.c (its life and its programs), runtime_state.c (listing the workspace) and
 * runtime_job.c (blocking work). */

#include "base/arena.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "event/emitter.h"
#include "runtime.h"
#include "workspace/program_control.h"
#include <pthread.h>

#define RUNTIME_OUTPUTS_MAX 200 /* remembered */

struct workspace_look;
struct runtime_seen;
struct scratch_dirs;
struct workspace_registry;

struct runtime {
    struct runtime_options options; /* texts in the arena */
    struct arena arena;
    struct loop *loop;
    struct emitter emitter;   /* for everything here: leads to … */
    struct emitter *recorder; /* … this one; NULL: no events */
    struct event_queue *ops;  /* operations on the workspace, from the threads they ran on */

    pthread_mutex_t mutex; /* guards what threads share: */
    struct workspace_registry *registry;
    struct scratch_dirs *scratch;
    unsigned scratch_made;
    struct versions *versions;
    struct runtime_output *outputs;
    size_t output_count;
    bool ended;
    char *moved; /* files moved out of the way in the workspace, not reported yet; NULL: none */

    struct env_vars env;  /* for every program */
    struct workspace *ws; /* once a call needed it; owned by the registry */
    struct programs *programs;
    struct exec *exec;
    unsigned numbered; /* programs that were numbered before */
    struct program_control control;

    size_t jobs; /* running on threads */
    bool looking, look_again, gone;
    struct loop_work look;
    struct runtime_seen *seen;
    struct runtime_seen *told; /* the last emitted state; NULL: none yet */
    unsigned deltas;           /* emitted since the last full state */
    /* Looking again while programs run (runtime_watch). */
    struct loop_timer watch;
    int64_t watch_us, look_us; /* start of watching; start of the current look */
};

/* The state of the workspace at a look. Blocks. `take_look` NULL: looks now. */
struct runtime_seen *runtime_see(struct runtime *runtime, struct workspace *ws, const struct workspace_look *take_look);
void runtime_seen_free(struct runtime_seen *seen);
/* Emits what is new in it. */
void runtime_emit_seen(struct runtime *runtime, struct runtime_seen *take_seen);
/* A program may have started: look again from time to time while any runs. */
void runtime_watch(struct runtime *runtime);

/* Emits the operations that threads have pushed. */
void runtime_emit_ops(struct runtime *runtime);
/* A job returned. Frees the runtime if it was closed and this was the last job. */
void runtime_job_back(struct runtime *runtime);

/* Remembers files that were moved out of the way until an answer reports them. From any thread. */
void runtime_remember_moved(struct runtime *runtime, const char *moved);
char *runtime_take_moved(struct runtime *runtime); /* NULL: none */
