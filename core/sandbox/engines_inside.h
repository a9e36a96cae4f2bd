#pragma once
/* Between engines.c and engines_program.c: filling in places. */

#include "engines.h"

/* What the places of one vector stand for; NULL: nothing. */
struct filling {
    const struct box_spec *spec;
    const char *name, *harness, *secret;
    const char *launcher, *path, *place, *variable, *user; /* of programs */
    char memory_mb[16], pids[16], cpus[16];
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
