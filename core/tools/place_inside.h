#pragma once
/* A place, inside: place.c keeps it and what runs there, place_state.c looks at the workspace, place_job.c does what
 * blocks. */

#include "base/arena.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "event/emitter.h"
#include "place.h"
#include "workspace/program_control.h"
#include <pthread.h>

#define PLACE_OUTPUTS_MAX 200 /* remembered */

struct rooms;
struct workspace_registry;

struct place {
    struct place_options options; /* texts in the arena */
    struct arena arena;
    struct loop *loop;
    struct emitter emitter;   /* for everything here: leads to … */
    struct emitter *recorder; /* … this one; NULL: nobody listens */
    struct event_queue *ops;  /* operations on the workspace, from the threads they ran on */

    pthread_mutex_t mutex; /* of what threads share: */
    struct workspace_registry *registry;
    struct rooms *rooms;
    unsigned rooms_made;
    struct versions *versions;
    struct place_output *outputs;
    size_t output_count;
    bool ended;
    char *moved; /* out of the way in the workspace, and not told yet; NULL: nothing */

    struct env_vars env;  /* for every program */
    struct workspace *ws; /* once it was asked for; the registry's */
    struct programs *programs;
    struct exec *exec;
    unsigned numbered; /* programs that had names before */
    struct program_control control;

    size_t jobs; /* out on threads */
    bool looking, look_again, gone;
    struct loop_work look;
    struct place_seen *seen;
    uint64_t emitted; /* the state that was emitted last, by its hash */
    /* Looking again while programs run (place_watch). */
    struct loop_timer watch;
    int64_t watch_us, look_us; /* since when; when the look under way began */
};

/* What a look at the workspace found. */
struct place_seen {
    struct arena arena;
    struct event_workspace_state state;
    uint64_t hash; /* of what can change */
};
/* Blocks. */
struct place_seen *place_see(struct place *place, struct workspace *ws);
void place_seen_free(struct place_seen *seen);
void place_emit_seen(struct place *place, struct place_seen *seen);
/* A program may have been started: looks again from time to time while any runs. */
void place_watch(struct place *place);

/* Emits the operations that threads have pushed. */
void place_emit_ops(struct place *place);
/* Somebody's work came back; the place may be gone afterwards when nobody has it any more. */
void place_job_back(struct place *place);

/* What was moved out of the way: kept until an answer says it. From any thread. */
void place_remember_moved(struct place *place, const char *moved);
char *place_take_moved(struct place *place); /* NULL: nothing */
