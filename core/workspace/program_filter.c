#include "program_filter.h"
#include "sandbox/cgroup.h"
#include "sandbox/engines_program.h"
#include "sandbox/syscall_filter.h"
#include <stdlib.h>
#include <unistd.h>

/* Containers have groups of their own, and a scope is one. */
static bool is_grouped(const struct program_vector *vector, const struct cgroup *group)
{
    if (vector->scope)
        return true;
    return vector->engine->program->cgroup ? cgroup_holds_memory(group) : sandbox_program_bounds_whole(vector->engine);
}

int program_filter_open(struct program_vector *vector, const struct cgroup *group, struct err *err)
{
    vector->filtered = vector->engine->program->filter != NULL;
    if (!vector->filtered)
        return 0;
    bool ungrouped = !is_grouped(vector, group);
    if (!sandbox_program_filter_in_env(vector->engine))
        return syscall_filter_open(ungrouped, err);
    vector->filter = syscall_filter_text(ungrouped, err);
    return vector->filter ? 0 : -1;
}

void program_filter_close(struct program_vector *vector, int fd)
{
    if (fd > 0)
        close(fd);
    free((char *)vector->filter);
    vector->filter = NULL;
}
