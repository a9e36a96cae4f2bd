#pragma once
/* What a program may use of the machine: its own limits, else those of all programs, else the engine's. */

#include "program.h"

struct cgroup;
struct program_vector;

void program_bounds_fill(struct program_vector *vector, const struct program_spec *spec,
                         const struct program_limits *all);
/* The group that holds them for all processes together; NULL: there is none. Where it does not count memory,
 * keyturn-launch is told to watch it. */
struct cgroup *program_bounds_group(struct program_vector *vector);
