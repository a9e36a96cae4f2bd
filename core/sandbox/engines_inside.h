#pragma once
/* Between engines.c and engines_program.c: filling in places. */

#include "engines.h"

/* What the places of one vector stand for; NULL: nothing. uid and gid are the sandbox's user. */
struct filling {
    const struct box_spec *spec;
    const char *name, *harness, *secret;
    const char *launcher, *path, *place, *variable, *user; /* of programs */
    char memory_mb[16], pids[16], cpus[16], uid[16], gid[16];
    char tmp_bytes[24], shm_bytes[24]; /* of programs */
};

/* A vector that grows. */
struct vector {
    char **items;
    size_t count, room;
};

/* Takes the text; keeps the NULL at the end. */
void vector_push(struct vector *vector, char *take_text);
int vector_push_filled(struct vector *vector, const char *argument, const struct filling *filling,
                       struct err *err) CHECKED;
/* Nothing for a list that is NULL. */
int vector_push_all(struct vector *vector, char *const *arguments, const struct filling *filling,
                    struct err *err) CHECKED;
void vector_cleanup(struct vector *vector);
/* A path of this machine that a vector binds. */
struct shown {
    const char *path; /* NULL: none */
    bool lent;        /* to be read only */
};
/* The first word of a template. As root, for an engine that is started as the sandbox's user, before it what makes it
 * that user, who sees the paths in `shown`. */
int vector_push_program(struct vector *vector, const char *program, const struct filling *filling,
                        const struct shown *shown, size_t count, struct err *err) CHECKED;
/* The path for the engine's vector: one that is started as another user is started elsewhere, too. The caller's. */
char *sandbox_path_for(const struct sandbox_engine *engine, const char *path);
void filling_set_user(struct filling *filling);
