#pragma once
/* Builds what an engine needs to run a program: its command, its limits, its system call filter. */

#include "program.h"

struct cgroup;
struct program_room;
struct program_vector;

void program_vector_fill(struct program_vector *vector, struct programs *programs, struct workspace *ws,
                         const struct program_spec *spec, struct program_room *room);
void program_vector_release(struct program_vector *vector);
/* The folder in which an engine starts; the caller frees it. */
char *program_engine_folder(const struct workspace *ws);
/* The engine's arguments. The first is resolved from our folder, because the engine starts in another one. */
char **program_engine_argv(const struct program_vector *vector, bool again, struct err *err);
/* Starts the engine of the vector in that control group (NULL: none). `base` has what the vector does not say: where it
 * starts, its input, its time and its network. */
struct process *program_engine_start(struct programs *programs, struct program_vector *vector,
                                     const struct cgroup *cgroup, bool again, const struct process_spec *base,
                                     const struct process_ops *ops, void *user, struct err *err) CHECKED;

/* Fills in the limits of a program: its own, else those of all programs, else the engine's. */
void program_bounds_fill(struct program_vector *vector, const struct program_spec *spec,
                         const struct program_limits *all);
/* The control group that applies them to all processes together; NULL: none. If it does not count memory,
 * keyturn-launch watches the memory. */
struct cgroup *program_bounds_group(struct program_vector *vector);
