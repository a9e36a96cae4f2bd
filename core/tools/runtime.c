/* The runtime of a session: its options, its workspace and its programs.
 *
 * A workspace reports its operations on the thread that carries them out. The runtime queues them in order and emits
 * them from the loop when their job returns or the call ends. So the output of a program precedes the record of its
 * run. */

#include "runtime.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "runtime_internal.h"
#include "sandbox/engines.h"
#include "sandbox/engines_program.h"
#include "sandbox/scratch_dirs.h"
#include "spool.h"
#include "workspace/exec.h"
#include "workspace/versions.h"
#include "workspace/workspace.h"
#include <string.h>

#define WATCH_MIN_US INT64_C(2000000)  /* first interval between two looks while programs run */
#define WATCH_MAX_US INT64_C(30000000) /* interval for programs that have run for long */
#define WATCH_SHARE  20 /* interval: one part in 20 of the run time, and at least 20 times as long as a look */

static const struct program_control program_control;

static const char *keep(struct runtime *runtime, const char *text)
{
    return text ? arena_strdup(&runtime->arena, text) : NULL;
}

static const char *const *keep_list(struct runtime *runtime, const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    const char **copy = arena_calloc(&runtime->arena, count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(&runtime->arena, list[i]);
    return list ? copy : NULL;
}

static const struct network_rule *keep_rules(struct runtime *runtime, const struct network_rules *rules)
{
    struct network_rule *copy = arena_calloc(&runtime->arena, rules->count, sizeof(*copy));
    memcpy(copy, rules->items, rules->count * sizeof(*copy));
    return copy;
}

static struct env_vars read_env(struct runtime *runtime, const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    struct env_var *vars = arena_calloc(&runtime->arena, count + 1, sizeof(*vars));
    for (size_t i = 0; i < count; i++) {
        size_t name = strcspn(list[i], "=");
        vars[i] = (struct env_var){arena_memdup0(&runtime->arena, list[i], name), keep(runtime, list[i] + name + 1)};
    }
    return (struct env_vars){vars, count};
}

/* Programs and threads may outlive the emitter that receives their events. */
static int pass_on(struct emitter *emitter, struct event *events, size_t count)
{
    struct emitter *recorder = CONTAINER_OF(emitter, struct runtime, emitter)->recorder;
    return recorder ? recorder->emit(recorder, events, count) : 0;
}

struct runtime *runtime_new(const struct runtime_options *options)
{
    struct runtime *runtime = xcalloc(1, sizeof(*runtime));
    struct runtime_options *own = &runtime->options;
    *own = *options;
    own->id = keep(runtime, options->id);
    own->why_none = keep(runtime, options->why_none);
    own->folder = keep(runtime, options->folder);
    own->kept = keep(runtime, options->kept);
    own->artifacts = keep(runtime, options->artifacts);
    own->artifact_project = keep(runtime, options->artifact_project);
    own->project = keep(runtime, options->project);
    own->skills = keep_list(runtime, options->skills);
    own->host = keep_list(runtime, options->host);
    own->commands.allow = keep_list(runtime, options->commands.allow);
    own->commands.deny = keep_list(runtime, options->commands.deny);
    if (options->network.count)
        own->network.items = keep_rules(runtime, &options->network);
    own->env = NULL; /* copied below: */
    runtime->env = read_env(runtime, options->env);
    own->env_missing = keep(runtime, options->env_missing);
    own->programs_max = options->programs_max ? options->programs_max : RUNTIME_PROGRAMS_MAX;
    runtime->loop = options->loop;
    runtime->emitter = (struct emitter){.emit = pass_on, .turn = EMITTER_RUNNING};
    runtime->ops = event_queue_new();
    pthread_mutex_init(&runtime->mutex, NULL);
    runtime->control = program_control;
    return runtime;
}

void runtime_emit_to(struct runtime *runtime, struct emitter *emitter)
{
    if (runtime)
        runtime->recorder = emitter;
}

const struct runtime_options *runtime_said(const struct runtime *runtime)
{
    return &runtime->options;
}

bool runtime_isolates(const struct runtime *runtime)
{
    return !runtime || !runtime->options.engine || !runtime->options.engine->unsafe;
}

bool runtime_network(const struct runtime *runtime)
{
    return runtime && (runtime->options.network.count || !runtime_isolates(runtime));
}

int64_t runtime_timeout_ms(const struct runtime *runtime, int64_t said_ms)
{
    int64_t most = runtime->options.timeout_ms;
    return most > 0 && said_ms > most ? most : said_ms;
}

/* ---- operations ---- */

void runtime_emit_ops(struct runtime *runtime)
{
    event_queue_emit(runtime->ops, &runtime->emitter);
}

/* ---- the workspace ---- */

void runtime_remember_moved(struct runtime *runtime, const char *moved)
{
    pthread_mutex_lock(&runtime->mutex);
    char *before = runtime->moved;
    runtime->moved = before ? xasprintf("%s; %s", before, moved) : xstrdup(moved);
    free(before);
    pthread_mutex_unlock(&runtime->mutex);
}

char *runtime_take_moved(struct runtime *runtime)
{
    pthread_mutex_lock(&runtime->mutex);
    char *moved = steal(&runtime->moved);
    pthread_mutex_unlock(&runtime->mutex);
    return moved;
}

struct versions *runtime_versions(struct runtime *runtime)
{
    const struct runtime_options *own = &runtime->options;
    pthread_mutex_lock(&runtime->mutex);
    bool first = !runtime->versions && own->artifacts;
    if (first)
        runtime->versions = versions_on_disk(own->artifacts, own->artifact_project);
    pthread_mutex_unlock(&runtime->mutex);
    if (first) /* without the lock, because the loop takes it too */
        versions_remove_old(own->artifacts, clock_system()->wall_us(clock_system()));
    return runtime->versions;
}

/* Returns the folder for workspaces: one that the next session cleans up if this one cannot, or one that is kept. */
static char *open_base(struct runtime *runtime, struct err *err)
{
    if (runtime->options.policy.persist)
        return xstrdup(runtime->options.kept);
    if (!runtime->scratch && !(runtime->scratch = scratch_dirs_open(runtime->options.folder, err)))
        return NULL;
    CLEANUP(free) char *name = xasprintf("programs-%u", ++runtime->scratch_made);
    return scratch_dirs_make(runtime->scratch, name, err);
}

static struct workspace *make(void *user, const char *id, struct err *err)
{
    struct runtime *runtime = user;
    const struct sandbox_engine *engine = runtime->options.engine;
    CLEANUP(free) char *base = open_base(runtime, err);
    struct workspace_options options = {.base = base,
                                        .versions = runtime_versions(runtime),
                                        .seen_at = engine && engine->program ? engine->program->workspace : NULL,
                                        .other_user = engine && sandbox_program_is_other_user(engine),
                                        /* If root lends files, a container could not read those that only root may
                                         * read. */
                                        .lends = engine && engine->program && engine->program->bind_mounts &&
                                                 (engine->as_user || !sandbox_program_is_other_user(engine)),
                                        .local = engine && engine->program && engine->program->cgroup,
                                        .ops = runtime->ops};
    return base ? workspace_create(&options, id, &runtime->options.policy, err) : NULL;
}

struct workspace *runtime_workspace(struct runtime *runtime, struct err *err)
{
    pthread_mutex_lock(&runtime->mutex);
    bool ended = runtime->ended;
    if (!runtime->registry && !ended)
        runtime->registry = workspace_registry_new();
    pthread_mutex_unlock(&runtime->mutex);
    if (ended) {
        err_set(err, "the session has ended, and its workspace with it");
        return NULL;
    }
    struct workspace *ws = workspace_registry_acquire(runtime->registry, runtime->options.id, make, runtime, NULL, err);
    if (!ws)
        return NULL;
    pthread_mutex_lock(&runtime->mutex);
    runtime->ws = ws;
    pthread_mutex_unlock(&runtime->mutex);
    return ws;
}

void runtime_collected(struct runtime *runtime, const struct runtime_output *output)
{
    pthread_mutex_lock(&runtime->mutex);
    size_t at = 0;
    while (at < runtime->output_count && strcmp(runtime->outputs[at].name, output->name) != 0)
        at++;
    if (!runtime->outputs)
        runtime->outputs = arena_calloc(&runtime->arena, RUNTIME_OUTPUTS_MAX, sizeof(*runtime->outputs));
    if (at < RUNTIME_OUTPUTS_MAX) {
        runtime->outputs[at] = *output;
        runtime->outputs[at].name = keep(runtime, output->name);
        runtime->outputs[at].saved_as = keep(runtime, output->saved_as);
        runtime->output_count += at == runtime->output_count;
    }
    pthread_mutex_unlock(&runtime->mutex);
}

/* ---- looking ---- */

static void look_at_workspace(struct loop_work *work)
{
    struct runtime *runtime = CONTAINER_OF(work, struct runtime, look);
    runtime->seen = runtime_see(runtime, runtime->ws, NULL);
}

static void on_watch(struct loop_timer *timer)
{
    struct runtime *runtime = CONTAINER_OF(timer, struct runtime, watch);
    if (programs_run(runtime->programs))
        runtime_look(runtime); /* continues with it */
}

/* The interval grows with the run time of the programs. This keeps the journal of a program that runs for days small,
 * and the cost of looking negligible. */
static void watch_on(struct runtime *runtime, int64_t took_us)
{
    int64_t now = loop_now_us(runtime->loop), pause = (now - runtime->watch_us) / WATCH_SHARE;
    if (runtime->ended || !programs_run(runtime->programs)) {
        loop_timer_stop(runtime->loop, &runtime->watch);
        return;
    }
    pause = pause > WATCH_MAX_US ? WATCH_MAX_US : pause > WATCH_MIN_US ? pause : WATCH_MIN_US;
    if (pause < took_us * WATCH_SHARE)
        pause = took_us * WATCH_SHARE;
    loop_timer_start(runtime->loop, &runtime->watch, now + pause, on_watch);
}

void runtime_watch(struct runtime *runtime)
{
    runtime->watch_us = loop_now_us(runtime->loop);
    bool soon = loop_timer_armed(&runtime->watch) && runtime->watch.due_us <= runtime->watch_us + WATCH_MIN_US;
    if (!runtime->looking && !soon)
        watch_on(runtime, 0);
}

static void looked(struct loop_work *work)
{
    struct runtime *runtime = CONTAINER_OF(work, struct runtime, look);
    bool again = runtime->look_again;
    int64_t took_us = loop_now_us(runtime->loop) - runtime->look_us;
    runtime->looking = runtime->look_again = false;
    runtime_emit_ops(runtime);
    runtime_emit_seen(runtime, steal(&runtime->seen));
    if (again)
        runtime_look(runtime);
    else
        watch_on(runtime, took_us);
    runtime_job_back(runtime);
}

void runtime_look(struct runtime *runtime)
{
    runtime->look_again = runtime->looking;
    if (runtime->looking || runtime->ended || !runtime->ws)
        return;
    runtime->looking = true;
    runtime->look_us = loop_now_us(runtime->loop);
    runtime->jobs++;
    loop_work_start(runtime->loop, &runtime->look, look_at_workspace, looked);
}

/* ---- programs ---- */

static struct env_vars provide(void *user)
{
    const struct runtime *runtime = user;
    return runtime->env;
}

struct programs *runtime_programs(struct runtime *runtime, struct err *err)
{
    const struct runtime_options *said = &runtime->options;
    if (runtime->ended) {
        err_set(err, "the session has ended, and its programs with it");
        return NULL;
    }
    if (!said->engine) {
        err_set(err, "%s", said->why_none ? said->why_none : "no sandbox for programs; run keyturn engines");
        return NULL;
    }
    if (said->env_missing) {
        err_set(err, "$%.60s is not set, and \"workspace.env\" in the user's config file uses it", said->env_missing);
        return NULL;
    }
    if (!runtime->programs)
        runtime->programs = programs_new(&(struct programs_options){.loop = runtime->loop,
                                                                    .engine = said->engine,
                                                                    .numbered = runtime->numbered,
                                                                    .network = said->network,
                                                                    .emitter = &runtime->emitter,
                                                                    .provider = {provide, runtime},
                                                                    .limits = said->limits,
                                                                    .prepare = true,
                                                                    .tidy_runs = true,
                                                                    .max_output = SPOOL_WINDOW},
                                         err);
    return runtime->programs;
}

/* The end of a program may have changed the workspace. */
static void session_ended(void *user)
{
    runtime_look(user);
}

struct exec *runtime_exec(struct runtime *runtime, struct err *err)
{
    if (!runtime_programs(runtime, err))
        return NULL;
    if (!runtime->exec)
        runtime->exec = exec_new(&(struct exec_options){.programs = runtime->programs,
                                                        .policy = runtime->options.commands,
                                                        .ended = session_ended,
                                                        .user = runtime});
    return runtime->exec;
}

void runtime_number_from(struct runtime *runtime, unsigned number)
{
    if (runtime)
        runtime->numbered = number;
}

static void drop_programs(struct runtime *runtime)
{
    exec_free(runtime->exec);
    runtime->exec = NULL;
    programs_free(runtime->programs);
    runtime->programs = NULL;
}

int runtime_room(const struct runtime *runtime, struct err *err)
{
    CLEANUP(strbuf) struct strbuf names = STRBUF_INIT;
    size_t running = runtime->exec ? exec_running(runtime->exec, &names) : 0;
    if (running < runtime->options.programs_max)
        return 0;
    return err_set(err, "the limit of running programs (%zu) is reached; end one with workspace_kill: %s", running,
                   names.buf);
}

/* ---- keys ---- */

/* NULL: no program has started yet. */
static struct program_control *sessions(struct program_control *control)
{
    struct runtime *runtime = CONTAINER_OF(control, struct runtime, control);
    return runtime->exec ? exec_control(runtime->exec) : NULL;
}

static int control_ready(struct program_control *control, const char *program, struct err *err)
{
    struct program_control *own = sessions(control);
    return own ? own->ready(own, program, err) : err_set(err, "unknown program %.40s", program);
}

static void control_write(struct program_control *control, const char *program, const char *text, size_t len)
{
    struct program_control *own = sessions(control);
    if (own)
        own->write(own, program, text, len);
}

static bool control_hides(struct program_control *control, const char *program)
{
    struct program_control *own = sessions(control);
    return own && own->hides(own, program);
}

static void control_resize(struct program_control *control, const char *program, int rows, int cols)
{
    struct program_control *own = sessions(control);
    if (own)
        own->resize(own, program, rows, cols);
}

static int control_kill(struct program_control *control, const char *program, struct err *err)
{
    struct program_control *own = sessions(control);
    return own ? own->kill(own, program, err) : err_set(err, "unknown program %.40s", program);
}

static const struct program_control program_control = {.ready = control_ready,
                                                       .write = control_write,
                                                       .hides = control_hides,
                                                       .resize = control_resize,
                                                       .kill = control_kill};

struct program_control *runtime_control(struct runtime *runtime)
{
    return runtime ? &runtime->control : NULL;
}

/* ---- the end ---- */

void runtime_end(struct runtime *runtime)
{
    struct err err = ERR_INIT;
    if (!runtime || runtime->ended)
        return;
    loop_timer_stop(runtime->loop, &runtime->watch);
    drop_programs(runtime);
    pthread_mutex_lock(&runtime->mutex);
    runtime->ended = true;
    pthread_mutex_unlock(&runtime->mutex);
    if (runtime->ws && workspace_cleanup(runtime->ws, &err))
        log_warn("workspace: %s", err.text);
    runtime_emit_ops(runtime);
    /* Files that a late thread still writes are removed with the enclosing folder, now or by the next session. */
    scratch_dirs_close(runtime->scratch);
    runtime->scratch = NULL;
}

static void forget_program(struct runtime *runtime)
{
    if (runtime->registry)
        workspace_registry_free(runtime->registry, false);
    runtime_seen_free(runtime->told);
    versions_free(runtime->versions);
    event_queue_free(runtime->ops);
    free(runtime->moved);
    pthread_mutex_destroy(&runtime->mutex);
    arena_release(&runtime->arena);
    free(runtime);
}

void runtime_job_back(struct runtime *runtime)
{
    runtime->jobs--;
    if (runtime->gone && !runtime->jobs)
        forget_program(runtime);
}

void runtime_free(struct runtime *runtime)
{
    if (!runtime)
        return;
    runtime_end(runtime);
    runtime->gone = true;
    if (runtime->looking)
        loop_work_disown(runtime->loop, &runtime->look);
    if (!runtime->jobs)
        forget_program(runtime);
}
