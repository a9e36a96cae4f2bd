#pragma once
/* Shared by engines.c and engines_program.c: filling in placeholders. */

#include "engines.h"

/* The values of the placeholders of one vector; NULL: empty. uid and gid are those of the sandbox's user. */
struct filling {
    const struct box_options *spec;
    const char *name, *harness, *secret;
    const char *launcher, *path, *place, *variable, *user; /* for programs */
    char memory_mb[16], pids[16], cpus[16], uid[16], gid[16];
    char tmp_bytes[24], shm_bytes[24]; /* for programs */
};

/* A growing vector of arguments. */
struct vector {
    char **items;
    size_t count, room;
};

/* Takes ownership of the text and keeps the NULL at the end. */
void vector_push(struct vector *vector, char *take_text);
int vector_push_filled(struct vector *vector, const char *argument, const struct filling *filling,
                       struct err *err) CHECKED;
/* Adds nothing for a NULL list. */
int vector_push_all(struct vector *vector, char *const *arguments, const struct filling *filling,
                    struct err *err) CHECKED;
void vector_cleanup(struct vector *vector);
/* A path of this machine that a vector binds. */
struct engine_shown {
    const char *path; /* NULL: none */
    bool bind_mounts; /* read-only */
};
/* Adds the first word of a template. If root starts the engine as the sandbox's user, first adds keyturn-launch,
 * which becomes that user and makes the paths in `shown` visible. */
int vector_push_program(struct vector *vector, const char *program, const struct filling *filling,
                        const struct engine_shown *shown, size_t count, struct err *err) CHECKED;
/* The path for the engine's vector. An engine that runs as another user also starts in another folder, so the path
 * becomes absolute. The caller frees it. */
char *sandbox_path_for(const struct sandbox_engine *engine, const char *path);
void filling_set_user(struct filling *filling);
