#pragma once
/* What an engine is told of a program, with strings of our own: its command, its limits, its system call filter. */

#include "program.h"

struct cgroup;
struct program_room;
struct program_vector;

void program_vector_fill(struct program_vector *vector, struct programs *programs, struct workspace *ws,
                         const struct program_spec *spec, struct program_room *room);
void program_vector_release(struct program_vector *vector);
/* The folder that an engine is started in; the caller's. */
char *program_engine_folder(const struct workspace *ws);
/* The engine's arguments, whose first is looked for from where we are: it is started elsewhere. */
char **program_engine_argv(const struct program_vector *vector, bool again, struct err *err);

/* What a program may use of the machine: its own limits, else those of all programs, else the engine's. */
void program_bounds_fill(struct program_vector *vector, const struct program_spec *spec,
                         const struct program_limits *all);
/* The group that holds them for all processes together; NULL: there is none. Where it does not count memory,
 * keyturn-launch is told to watch it. */
struct cgroup *program_bounds_group(struct program_vector *vector);

/* Makes the filter that the engine of the vector takes, for a program in that control group (NULL: in none): a
 * descriptor to be handed over, or 0 with the text in the vector, or 0 where the engine takes none. -1 and a sentence:
 * the program must not start. program_filter_close ends both once the engine runs. */
int program_filter_open(struct program_vector *vector, const struct cgroup *group, struct err *err) CHECKED;
void program_filter_close(struct program_vector *vector, int fd);
