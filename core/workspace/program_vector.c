/* What an engine needs to know about a program: its command, its limits and its system call filter. */

#include "program_vector.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "program_network.h"
#include "programs_internal.h"
#include "sandbox/engines_program.h"
#include "sandbox/limits.h"
#include "sandbox/syscall_filter.h"
#include "workspace.h"
#include <string.h>
#include <unistd.h>

static bool is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\r\n")];
}

static const char *const *copy_command(const struct program_spec *spec)
{
    size_t count = 0;
    while (spec->args && spec->args[count])
        count++;
    char **argv = xcalloc(count + 2, sizeof(*argv));
    argv[0] = xstrdup(is_blank(spec->cmd) ? "" : spec->cmd);
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = xstrdup(spec->args[i]);
    return (const char *const *)argv;
}

/* The name identifies all processes of the program. */
static void add_name(struct program_vector *vector)
{
    size_t count = 0;
    while (vector->env[count])
        count++;
    char **env = xreallocarray((char **)(uintptr_t)vector->env, count + 2, sizeof(*env));
    env[count] = xasprintf("%s=%s", LAUNCH_NAME, vector->name);
    env[count + 1] = NULL;
    vector->env = (const char *const *)env;
}

void program_vector_fill(struct program_vector *vector, struct programs *programs, struct workspace *ws,
                         const struct program_spec *spec, struct program_room *room)
{
    *vector = (struct program_vector){.engine = programs->engine,
                                      .image = programs->image,
                                      .workspace = xstrdup(ws->path),
                                      .cwd = steal(&room->cwd),
                                      .name = xasprintf(CGROUP_PROGRAM "%d-%u", (int)getpid(), ++programs->named),
                                      .visible = (const char *const *)programs->visible,
                                      .argv = copy_command(spec),
                                      .env = (const char *const *)steal(&room->env),
                                      .network = program_network_on(programs),
                                      .tty = spec->tty};
    if (programs->engine->unsafe)
        add_name(vector);
    if (vector->network)
        vector->env =
            (const char *const *)program_network_variables(&programs->network, (char **)(uintptr_t)vector->env);
    vector->bind_mounts = workspace_bind_mounts(ws, &vector->bind_mount_count);
    program_bounds_fill(vector, spec, &programs->limits);
    if (ws->policy.max_disk_bytes > 0)
        vector->files_mb = (unsigned)((ws->policy.max_disk_bytes + (1 << 20) - 1) >> 20);
}

void program_vector_release(struct program_vector *vector)
{
    bind_mounts_free((struct bind_mount *)(uintptr_t)vector->bind_mounts, vector->bind_mount_count);
    free((char *)vector->workspace);
    free((char *)vector->cwd);
    free((char *)vector->name);
    argv_free((char **)vector->argv);
    argv_free((char **)vector->env);
}

/* Engines leave files where they start (podman: "oom"). So they start neither in the user's folder nor in one that
 * the program sees. */
char *program_engine_folder(const struct workspace *ws)
{
    size_t len = strlen(ws->path);
    while (len > 1 && ws->path[len - 1] != '/')
        len--;
    return ws->trusted || len < 2 ? xstrdup("/") : xmemdup0(ws->path, len - 1);
}

char **program_engine_argv(const struct program_vector *vector, bool again, struct err *err)
{
    char **argv = sandbox_program_argv(vector, again, err);
    char *path = argv && strchr(argv[0], '/') && argv[0][0] != '/' ? realpath(argv[0], NULL) : NULL;
    if (path) {
        free(argv[0]);
        argv[0] = path;
    }
    if (argv && vector->scope)
        argv = scope_argv(&(struct cgroup_limits){vector->memory_mb, vector->pids, vector->cpu_percent}, argv);
    return argv;
}

/* ---- the system call filter ---- */

/* Containers have their own groups, and a scope is one. */
static bool is_grouped(const struct program_vector *vector, const struct cgroup *group)
{
    if (vector->scope)
        return true;
    return vector->engine->program->cgroup ? cgroup_holds_memory(group) : sandbox_program_bounds_whole(vector->engine);
}

/* Creates the filter for the engine of the vector, for a program in that control group (NULL: none). Returns a
 * descriptor to hand over; or 0 with the text in the vector, or 0 if the engine takes no filter. -1 and a sentence:
 * the program must not start. Call program_filter_close after the engine has started. */
static int program_filter_open(struct program_vector *vector, const struct cgroup *group, struct err *err)
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

static void program_filter_close(struct program_vector *vector, int fd)
{
    if (fd > 0)
        close(fd);
    free((char *)vector->filter);
    vector->filter = NULL;
}

/* ---- starting ---- */

struct process *program_engine_start(struct programs *programs, struct program_vector *vector,
                                     const struct cgroup *cgroup, bool again, const struct process_spec *base,
                                     const struct process_ops *ops, void *user, struct err *err)
{
    const struct sandbox_engine *engine = vector->engine;
    struct process *process = NULL;
    struct engines_etc etc = {0};
    int filter = program_filter_open(vector, cgroup, err);
    if (filter < 0 || engines_etc_open(&etc, engine, err)) {
        program_filter_close(vector, filter);
        return NULL;
    }
    int handed[1 + COUNT_OF(etc.fds)] = {filter};
    memcpy(handed + 1, etc.fds, sizeof(etc.fds));
    bool control = engine->program->control;
    CLEANUP(free) char *group = cgroup_procs(cgroup);
    char **argv = program_engine_argv(vector, again, err), **env = sandbox_program_env(vector);
    char **engine_env = sandbox_program_env(&(struct program_vector){.engine = engine});
    char **ask = sandbox_program_ask(vector, false), **stop = sandbox_program_ask(vector, true);
    struct process_spec spec = *base;
    spec.argv = (const char *const *)argv;
    spec.env = (const char *const *)env;
    spec.open = vector->tty ? PROCESS_PTY : PROCESS_PIPE;
    spec.launcher = control ? PROCESS_IN_ENGINE : PROCESS_IN_ENGINE_DEAF;
    spec.direct = sandbox_program_can_wait(engine);
    spec.calm_after = PROGRAM_CALM_AFTER;
    spec.join = cgroup_join(cgroup);
    spec.hand_over = handed;
    spec.limits =
        (struct process_limits){.memory_mb = vector->memory_mb, .cpu_s = vector->cpu_s, .files_mb = vector->files_mb};
    spec.ask_argv = (const char *const *)ask;
    spec.stop_argv = (const char *const *)stop;
    spec.stop_env = (const char *const *)engine_env;
    spec.guard = !control;
    spec.name = engine->unsafe ? vector->name : NULL;
    spec.group = group;
    if (argv)
        process = process_start(programs->loop, &spec, ops, user, err);
    program_filter_close(vector, filter);
    engines_etc_close(&etc);
    argv_free(argv);
    argv_free(env);
    argv_free(engine_env);
    argv_free(ask);
    argv_free(stop);
    return process;
}

/* ---- limits ---- */

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
    /* keyturn-launch does not watch a container that has its own group. It may not compare the memory of two
     * processes there, so a child of vfork would count twice. A scope may be missing without an error, so process 1
     * watches too. */
    bool container = !vector->engine->program->cgroup && sandbox_program_bounds_whole(vector->engine);
    vector->watch_memory = !container && !cgroup_holds_memory(group);
    return group;
}
