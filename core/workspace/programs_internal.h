#pragma once
/* Shared internals of the files that run programs. */

#include "program.h"

struct cgroup;
struct process_order;
struct program_vector;
struct ready_sandbox;

struct programs {
    struct loop *loop;
    const struct sandbox_engine *engine;
    char *image, **visible;
    bool host_env;
    struct network_rules network;
    struct emitter *emitter;
    struct env_provider provider;
    void (*engine_says)(void *user, const char *line); /* NULL: written to the log */
    void *engine_user;
    struct program_limits limits;
    size_t max_output;
    struct program *running;     /* list of running programs */
    struct inline_work *inlines; /* list of inline runs */
    struct ready_sandbox *ready; /* for the next program; NULL: this engine or its user wants none (ready_sandbox.c) */
    unsigned started, named;
    bool tidy_runs;
    bool again; /* the engine works only with its `retry` */
    bool works; /* the engine has started a program: stderr is now the program's */
};

/* The folder of one run, RUN_DIR. It is there for what the program wants to keep apart, and gone if that was nothing.
 */
struct run_folder {
    char *path; /* relative to the workspace; NULL: none */
    int watch;  /* changes_made */
};
/* Removes the folder if it is empty and the programs are tidy. */
void run_folder_end(struct run_folder *run, const struct programs *programs, struct workspace *ws);

/* What a program needs before it starts: its folders, and its environment with their names. */
struct program_room {
    char *cwd; /* relative to the workspace, clean */
    char **env;
    struct run_folder run; /* the caller ends it */
};
int program_room_make(struct program_room *room, struct programs *programs, struct workspace *ws,
                      const struct program_spec *spec, struct err *err) CHECKED;
void program_room_release(struct program_room *room);

/* A sandbox that stands ready: its engine runs, and keyturn-launch waits in it for an order. */
struct ready_sandbox *ready_sandbox_new(struct programs *programs);
void ready_sandbox_free(struct ready_sandbox *ready); /* NULL is fine */
bool ready_sandbox_is_there(const struct ready_sandbox *ready, unsigned *used);
/* A program has ended: some time later one for the next program in this workspace stands ready. NULL is fine. */
void ready_sandbox_prepare(struct ready_sandbox *ready, struct workspace *ws);
/* Gives the order to run a program to the one that stands ready. NULL: there is none, or not with the same limits,
 * mounts and engine; then it starts cold. The process is the caller's, and calls back `order->user`. The group too. */
struct process *ready_sandbox_take(struct ready_sandbox *ready, struct workspace *ws, struct program_vector *vector,
                                   struct process_order *order, struct cgroup **take_group);
/* Ends the inline runs in progress (inline.c), after their programs have ended. */
void inline_drop_all(struct programs *programs);
