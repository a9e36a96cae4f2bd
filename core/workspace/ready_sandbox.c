/* The sandbox that stands ready for the next program (programs_internal.h).
 *
 *     a program ends ── READY_AFTER_MS ──► an engine starts, keyturn-launch waits in it (launch.c, --wait)
 *         ▲                                  │ the next call: an order with command, environment, folder and limits
 *         └──────────────────────────────────┘
 *
 * The first program of a session starts cold, so who runs none pays nothing. What the engine fixes at its start
 * (mounts, system call filter, control group, sizes) is compared with what the call needs; if anything differs, the
 * program starts cold and a new sandbox is made after it. While it waits it uses no processor time. It ends with its
 * control connection, however Keyturn ends. */

#include "base/loop.h"
#include "base/mem.h"
#include "look.h"
#include "program_network.h"
#include "program_vector.h"
#include "programs_internal.h"
#include "sandbox/engines_program.h"
#include "sandbox/limits.h"
#include "workspace.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READY_AFTER_MS  10 /* the result of the program goes first */
#define READY_AGAIN_MS  1000
#define READY_DEATHS    3   /* in a row: then no more until a program has run */
#define MEMORY_LEAST_MB 256 /* free memory that must be left */

struct ready_sandbox {
    struct programs *programs;
    struct loop_timer timer;
    struct workspace *ws;    /* held; NULL: no program has run */
    struct process *process; /* NULL: none stands ready */
    struct cgroup *cgroup;
    struct program_vector vector;
    char **argv; /* of the engine */
    unsigned deaths, used;
};

struct ready_sandbox *ready_sandbox_new(struct programs *programs)
{
    struct ready_sandbox *ready = xcalloc(1, sizeof(*ready));
    ready->programs = programs;
    return ready;
}

bool ready_sandbox_is_there(const struct ready_sandbox *ready, unsigned *used)
{
    if (used)
        *used = ready->used;
    return ready->process;
}

static void drop(struct ready_sandbox *ready)
{
    process_free(steal(&ready->process));
    cgroup_free(steal(&ready->cgroup));
    program_vector_release(&ready->vector);
    ready->vector = (struct program_vector){0};
    argv_free(steal(&ready->argv));
}

void ready_sandbox_free(struct ready_sandbox *ready)
{
    if (!ready)
        return;
    loop_timer_stop(ready->programs->loop, &ready->timer);
    drop(ready);
    workspace_free(ready->ws);
    free(ready);
}

/* ---- making one ---- */

static void on_ready_sandbox_timer(struct loop_timer *timer);

static void prepare_in(struct ready_sandbox *ready, int64_t ms)
{
    struct loop *loop = ready->programs->loop;
    loop_timer_start(loop, &ready->timer, loop_now_us(loop) + ms * 1000, on_ready_sandbox_timer);
}

static void on_ready_sandbox_ended(void *user, const struct process_end *end)
{
    struct ready_sandbox *ready = user;
    (void)end;
    drop(ready);
    if (++ready->deaths < READY_DEATHS)
        prepare_in(ready, READY_AGAIN_MS);
}

/* An order names another receiver, and before it there is no network. */
static void no_network(void *user, int take_fd)
{
    (void)user;
    close(take_fd);
}

static bool memory_is_short(void)
{
    long available_kb = 0;
    char line[128];
    FILE *info = fopen("/proc/meminfo", "re");
    while (info && fgets(line, sizeof(line), info))
        if (sscanf(line, "MemAvailable: %ld", &available_kb) == 1)
            break;
    if (info)
        fclose(info);
    return info && available_kb < MEMORY_LEAST_MB * 1024L;
}

static bool disk_is_full(struct workspace *ws)
{
    struct disk_count count;
    int64_t took_us, limit = ws->policy.max_disk_bytes;
    return limit > 0 && workspace_last_count(ws, &count, &took_us) && disk_check(limit, &count, 0, NULL) < 0;
}

static void start(struct ready_sandbox *ready)
{
    static const struct process_ops ops = {.ended = on_ready_sandbox_ended};
    struct err err = ERR_INIT;
    struct programs *programs = ready->programs;
    struct program_room room = {.cwd = xstrdup("."), .env = xcalloc(1, sizeof(char *))};
    CLEANUP(free) char *around = program_engine_folder(ready->ws);
    struct process_spec spec = {
        .cwd = around, .keep_input = true, .network = program_network_on(programs) ? no_network : NULL};
    program_vector_fill(&ready->vector, programs, ready->ws, &(struct program_spec){.cmd = "-"}, &room);
    program_room_release(&room);
    ready->vector.waits = true;
    argv_free((char **)(uintptr_t)ready->vector.env);
    ready->vector.env = NULL; /* they come with the order */
    ready->cgroup = program_bounds_group(&ready->vector);
    if (!ready->vector.bind_mount_count && !ready->vector.scope)
        ready->argv = program_engine_argv(&ready->vector, programs->again, &err);
    if (ready->argv)
        ready->process =
            program_engine_start(programs, &ready->vector, ready->cgroup, programs->again, &spec, &ops, ready, &err);
    if (!ready->process)
        drop(ready); /* the next program starts cold, and says why it cannot */
}

static void on_ready_sandbox_timer(struct loop_timer *timer)
{
    struct ready_sandbox *ready = CONTAINER_OF(timer, struct ready_sandbox, timer);
    if (!ready->process && !memory_is_short() && !disk_is_full(ready->ws))
        start(ready);
}

void ready_sandbox_prepare(struct ready_sandbox *ready, struct workspace *ws)
{
    if (!ready)
        return;
    if (ready->ws != ws) {
        drop(ready);
        workspace_free(ready->ws);
        ready->ws = workspace_hold(ws);
    }
    ready->deaths = 0;
    prepare_in(ready, READY_AFTER_MS);
}

/* ---- using it ---- */

static bool same_list(char *const *a, char *const *b)
{
    for (; *a && *b && strcmp(*a, *b) == 0; a++, b++)
        ;
    return !*a && !*b;
}

/* Folders that are shown in the workspace may have been replaced since: they are mounted when the program starts. */
static bool fits(const struct ready_sandbox *ready, const struct workspace *ws, const struct program_vector *vector)
{
    const struct program_vector *own = &ready->vector;
    struct program_vector wanted = *vector;
    if (!ready->process || ready->ws != ws || vector->bind_mount_count || vector->tty ||
        own->memory_mb != vector->memory_mb || own->pids != vector->pids || own->cpu_percent != vector->cpu_percent)
        return false;
    wanted.waits = true;
    char **argv = program_engine_argv(&wanted, ready->programs->again, NULL);
    bool same = argv && same_list(argv, ready->argv);
    argv_free(argv);
    return same;
}

struct process *ready_sandbox_take(struct ready_sandbox *ready, struct workspace *ws, struct program_vector *vector,
                                   struct process_order *order, struct cgroup **take_group)
{
    if (!ready)
        return NULL;
    loop_timer_stop(ready->programs->loop, &ready->timer);
    vector->watch_memory = ready->vector.watch_memory;
    char **argv = sandbox_program_order(vector);
    order->argv = (const char *const *)argv;
    order->env = vector->env;
    struct process *process = NULL;
    if (fits(ready, ws, vector) && process_give_order(ready->process, order)) {
        process = steal(&ready->process);
        *take_group = steal(&ready->cgroup);
        ready->used++;
    }
    argv_free(argv);
    drop(ready);
    return process;
}
