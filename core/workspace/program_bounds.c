#include "program_bounds.h"
#include "sandbox/cgroup.h"
#include "sandbox/engines_program.h"

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

struct cgroup *program_bounds_group(const struct program_vector *vector)
{
    struct cgroup_limits limits = {
        .memory_mb = vector->memory_mb, .pids = vector->pids, .cpu_percent = vector->cpu_percent};
    return vector->engine->program->cgroup ? cgroup_new(vector->name, &limits) : NULL;
}
