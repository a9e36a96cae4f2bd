#pragma once
/* What an engine is told of a program, with strings of our own. */

#include "program.h"

struct program_room;
struct program_vector;

void program_vector_fill(struct program_vector *vector, struct programs *programs, struct workspace *ws,
                         const struct program_spec *spec, struct program_room *room);
void program_vector_release(struct program_vector *vector);
/* The folder that an engine is started in; the caller's. */
char *program_engine_folder(const struct workspace *ws);
/* The engine's arguments, whose first is looked for from where we are: it is started elsewhere. */
char **program_engine_argv(const struct program_vector *vector, bool again, struct err *err);
