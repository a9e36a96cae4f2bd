#pragma once
/* The system call filter of one program: which variant it gets, and how it reaches the engine. */

#include "base/err.h"

struct cgroup;
struct program_vector;

/* Makes the filter that the engine of the vector takes, for a program in that control group (NULL: in none): a
 * descriptor to be handed over, or 0 with the text in the vector, or 0 where the engine takes none. -1 and a sentence:
 * the program must not start. program_filter_close ends both once the engine runs. */
int program_filter_open(struct program_vector *vector, const struct cgroup *group, struct err *err) CHECKED;
void program_filter_close(struct program_vector *vector, int fd);
