#include "program_bounds.h"
#include "sandbox/cgroup.h"
#include "sandbox/engines_program.h"
#include "sandbox/scope.h"

void program_bounds_fill(struct program_vector *vector, const struct program_spec *spec,
                         const struct program_limits *all)
{
    const struct program_limits *own = &spec->limits;
    bool isolates = !vector->engine->unsafe;
    vector->memory_mb = own->memory_mb ? own->memory_mb : all->memory_mb;
    vector->pids = own->pids ? own->pids : all->pids;
    vector->cpu_percent = own->cpu_percent ? own->cpu_percent : all->cpu_percent;
    if (isolates && !vector->memory_mb)
        vector->memory_mb = PROGRAM_MEMORY_MB;
    if (isolates && !vector->pids)
        vector->pids = PROGRAM_PIDS;
    if (vector->cpu_percent)
        vector->cpu_s = (unsigned)(program_timeout_ms(spec->timeout_ms) * vector->cpu_percent / 100000 + 1);
}

struct cgroup *program_bounds_group(struct program_vector *vector)
{
    struct cgroup_limits limits = {
        .memory_mb = vector->memory_mb, .pids = vector->pids, .cpu_percent = vector->cpu_percent};
    struct cgroup *group = vector->engine->program->cgroup ? cgroup_new(vector->name, &limits) : NULL;
    vector->scope = !group && vector->memory_mb && vector->engine->program->cgroup && scope_state() == SCOPE_WORKS;
    /* A container that has its own group is not watched: it may not compare the memory of two processes, so that a child
     * of vfork would count twice. A scope may be left out without an error, so process 1 looks too. */
    bool container = !vector->engine->program->cgroup && sandbox_program_bounds_whole(vector->engine);
    vector->watch_memory = !container && !cgroup_holds_memory(group);
    return group;
}
