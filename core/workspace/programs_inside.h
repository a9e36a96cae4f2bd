#pragma once
/* Between the files of programs. */

#include "program.h"

struct programs {
    struct loop *loop;
    const struct sandbox_engine *engine;
    char *image, **visible;
    bool host_env;
    struct network_rules network;
    struct emitter *emitter;
    struct env_provider provider;
    void (*engine_says)(void *user, const char *line); /* NULL: the log hears it */
    void *engine_user;
    struct program_limits limits;
    size_t max_output;
    struct program *running;     /* a list */
    struct inline_work *inlines; /* another */
    unsigned started;
    bool again; /* the engine works with its `retry` only */
    bool works; /* it has started a program: what is said on stderr is the program's */
};

/* What must be there before a program starts: its folders, and its environment with their names. */
struct program_room {
    char *cwd; /* relative to the workspace, clean */
    char **env;
};
int program_room_make(struct program_room *room, struct programs *programs, struct workspace *ws,
                      const struct program_spec *spec, struct err *err) CHECKED;
void program_room_release(struct program_room *room);

/* Ends the blocks of code that are under way (inline.c), once their programs are gone. */
void inline_drop_all(struct programs *programs);
