/* A place: what was set up, the workspace, and who is told.
 *
 * Operations on a workspace tell of themselves on the thread that carries them out. They are kept in order and handed
 * on from the loop when the work comes back that they are part of, or the call ends: so what a program printed stands
 * before the record of its run. */

#include "place.h"
#include "base/log.h"
#include "base/mem.h"
#include "place_inside.h"
#include "sandbox/engines.h"
#include "sandbox/engines_program.h"
#include "sandbox/rooms.h"
#include "spool.h"
#include "workspace/exec.h"
#include "workspace/registry.h"
#include "workspace/versions.h"
#include <string.h>

#define WATCH_MIN_US INT64_C(2000000)  /* between two looks while programs run, at first … */
#define WATCH_MAX_US INT64_C(30000000) /* … and when they have run for long … */
#define WATCH_SHARE  20 /* … so many times as long as a look takes, one part in so many of their time */

static const struct program_control program_control;

static const char *keep(struct place *place, const char *text)
{
    return text ? arena_strdup(&place->arena, text) : NULL;
}

static const char *const *keep_list(struct place *place, const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    const char **copy = arena_calloc(&place->arena, count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(&place->arena, list[i]);
    return list ? copy : NULL;
}

static const struct network_rule *keep_rules(struct place *place, const struct network_rules *rules)
{
    struct network_rule *copy = arena_calloc(&place->arena, rules->count, sizeof(*copy));
    memcpy(copy, rules->items, rules->count * sizeof(*copy));
    return copy;
}

static struct env_vars read_env(struct place *place, const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    struct env_var *vars = arena_calloc(&place->arena, count + 1, sizeof(*vars));
    for (size_t i = 0; i < count; i++) {
        size_t name = strcspn(list[i], "=");
        vars[i] = (struct env_var){arena_memdup0(&place->arena, list[i], name), keep(place, list[i] + name + 1)};
    }
    return (struct env_vars){vars, count};
}

/* Programs and threads may outlive whoever listens. */
static int pass_on(struct emitter *emitter, struct event *events, size_t count)
{
    struct emitter *recorder = CONTAINER_OF(emitter, struct place, emitter)->recorder;
    return recorder ? recorder->emit(recorder, events, count) : 0;
}

struct place *place_new(const struct place_options *options)
{
    struct place *place = xcalloc(1, sizeof(*place));
    struct place_options *own = &place->options;
    *own = *options;
    own->id = keep(place, options->id);
    own->why_none = keep(place, options->why_none);
    own->folder = keep(place, options->folder);
    own->kept = keep(place, options->kept);
    own->artifacts = keep(place, options->artifacts);
    own->project = keep(place, options->project);
    own->skills = keep_list(place, options->skills);
    own->host = keep_list(place, options->host);
    own->commands.allow = keep_list(place, options->commands.allow);
    own->commands.deny = keep_list(place, options->commands.deny);
    if (options->network.count)
        own->network.items = keep_rules(place, &options->network);
    own->env = NULL; /* they are here: */
    place->env = read_env(place, options->env);
    own->env_missing = keep(place, options->env_missing);
    own->programs_max = options->programs_max ? options->programs_max : PLACE_PROGRAMS_MAX;
    place->loop = options->loop;
    place->emitter = (struct emitter){.emit = pass_on, .turn = EMITTER_RUNNING};
    place->ops = event_queue_new();
    pthread_mutex_init(&place->mutex, NULL);
    place->control = program_control;
    return place;
}

void place_emit_to(struct place *place, struct emitter *emitter)
{
    if (place)
        place->recorder = emitter;
}

const struct place_options *place_said(const struct place *place)
{
    return &place->options;
}

bool place_isolates(const struct place *place)
{
    return !place || !place->options.engine || !place->options.engine->unsafe;
}

bool place_network(const struct place *place)
{
    return place && (place->options.network.count || !place_isolates(place));
}

int64_t place_timeout_ms(const struct place *place, int64_t said_ms)
{
    int64_t most = place->options.timeout_ms;
    return most > 0 && said_ms > most ? most : said_ms;
}

/* ---- operations ---- */

void place_emit_ops(struct place *place)
{
    event_queue_emit(place->ops, &place->emitter);
}

/* ---- the workspace ---- */

void place_remember_moved(struct place *place, const char *moved)
{
    pthread_mutex_lock(&place->mutex);
    char *before = place->moved;
    place->moved = before ? xasprintf("%s; %s", before, moved) : xstrdup(moved);
    free(before);
    pthread_mutex_unlock(&place->mutex);
}

char *place_take_moved(struct place *place)
{
    pthread_mutex_lock(&place->mutex);
    char *moved = steal(&place->moved);
    pthread_mutex_unlock(&place->mutex);
    return moved;
}

struct versions *place_versions(struct place *place)
{
    pthread_mutex_lock(&place->mutex);
    if (!place->versions && place->options.artifacts)
        place->versions = versions_on_disk(place->options.artifacts);
    pthread_mutex_unlock(&place->mutex);
    return place->versions;
}

/* Where a workspace is made: below a folder that the next session removes when this one cannot, or where it may stay.
 */
static char *open_base(struct place *place, struct err *err)
{
    if (place->options.policy.persist)
        return xstrdup(place->options.kept);
    if (!place->rooms && !(place->rooms = rooms_open(place->options.folder, err)))
        return NULL;
    CLEANUP(free) char *name = xasprintf("programs-%u", ++place->rooms_made);
    return rooms_make(place->rooms, name, err);
}

static struct workspace *make(void *user, const char *id, struct err *err)
{
    struct place *place = user;
    const struct sandbox_engine *engine = place->options.engine;
    CLEANUP(free) char *base = open_base(place, err);
    struct workspace_options options = {.base = base,
                                        .versions = place_versions(place),
                                        .seen_at = engine && engine->program ? engine->program->workspace : NULL,
                                        .other_user = engine && sandbox_program_is_other_user(engine),
                                        /* Of what root lends, containers could not read what is root's alone. */
                                        .lends = engine && engine->program && engine->program->lent &&
                                                 (engine->as_user || !sandbox_program_is_other_user(engine)),
                                        .ops = place->ops};
    return base ? workspace_create(&options, id, &place->options.policy, err) : NULL;
}

struct workspace *place_workspace(struct place *place, struct err *err)
{
    pthread_mutex_lock(&place->mutex);
    bool ended = place->ended;
    if (!place->registry && !ended)
        place->registry = workspace_registry_new();
    pthread_mutex_unlock(&place->mutex);
    if (ended) {
        err_set(err, "the session has ended, and its workspace with it");
        return NULL;
    }
    struct workspace *ws = workspace_registry_acquire(place->registry, place->options.id, make, place, NULL, err);
    if (!ws)
        return NULL;
    pthread_mutex_lock(&place->mutex);
    place->ws = ws;
    pthread_mutex_unlock(&place->mutex);
    return ws;
}

void place_collected(struct place *place, const struct place_output *output)
{
    pthread_mutex_lock(&place->mutex);
    size_t at = 0;
    while (at < place->output_count && strcmp(place->outputs[at].name, output->name) != 0)
        at++;
    if (!place->outputs)
        place->outputs = arena_calloc(&place->arena, PLACE_OUTPUTS_MAX, sizeof(*place->outputs));
    if (at < PLACE_OUTPUTS_MAX) {
        place->outputs[at] = *output;
        place->outputs[at].name = keep(place, output->name);
        place->outputs[at].saved_as = keep(place, output->saved_as);
        place->output_count += at == place->output_count;
    }
    pthread_mutex_unlock(&place->mutex);
}

/* ---- looking ---- */

void place_emit_seen(struct place *place, struct place_seen *seen)
{
    if (!seen || !place->recorder || seen->hash == place->emitted)
        return;
    place->emitted = seen->hash;
    emit(&place->emitter, &(struct event){.type = EVENT_WORKSPACE_STATE, .workspace_state = seen->state});
}

static void look(struct loop_work *work)
{
    struct place *place = CONTAINER_OF(work, struct place, look);
    place->seen = place_see(place, place->ws);
}

static void on_watch(struct loop_timer *timer)
{
    struct place *place = CONTAINER_OF(timer, struct place, watch);
    if (programs_run(place->programs))
        place_look(place); /* which goes on with it */
}

/* Ever less often the longer they run, so that what is recorded of a program that runs for days stays small, and never
 * so often that looking is felt. */
static void watch_on(struct place *place, int64_t took_us)
{
    int64_t now = loop_now_us(place->loop), pause = (now - place->watch_us) / WATCH_SHARE;
    if (place->ended || !programs_run(place->programs)) {
        loop_timer_stop(place->loop, &place->watch);
        return;
    }
    pause = pause > WATCH_MAX_US ? WATCH_MAX_US : pause > WATCH_MIN_US ? pause : WATCH_MIN_US;
    if (pause < took_us * WATCH_SHARE)
        pause = took_us * WATCH_SHARE;
    loop_timer_start(place->loop, &place->watch, now + pause, on_watch);
}

void place_watch(struct place *place)
{
    place->watch_us = loop_now_us(place->loop);
    bool soon = loop_timer_armed(&place->watch) && place->watch.due_us <= place->watch_us + WATCH_MIN_US;
    if (!place->looking && !soon)
        watch_on(place, 0);
}

static void looked(struct loop_work *work)
{
    struct place *place = CONTAINER_OF(work, struct place, look);
    bool again = place->look_again;
    int64_t took_us = loop_now_us(place->loop) - place->look_us;
    place->looking = place->look_again = false;
    place_emit_ops(place);
    if (!place->ended)
        place_emit_seen(place, place->seen);
    place_seen_free(steal(&place->seen));
    if (again)
        place_look(place);
    else
        watch_on(place, took_us);
    place_job_back(place);
}

void place_look(struct place *place)
{
    place->look_again = place->looking;
    if (place->looking || place->ended || !place->ws)
        return;
    place->looking = true;
    place->look_us = loop_now_us(place->loop);
    place->jobs++;
    loop_work_start(place->loop, &place->look, look, looked);
}

/* ---- programs ---- */

static struct env_vars provide(void *user)
{
    const struct place *place = user;
    return place->env;
}

struct programs *place_programs(struct place *place, struct err *err)
{
    const struct place_options *said = &place->options;
    if (place->ended) {
        err_set(err, "the session has ended, and its programs with it");
        return NULL;
    }
    if (!said->engine) {
        err_set(err, "%s", said->why_none ? said->why_none : "there is no sandbox for programs (see keyturn engines)");
        return NULL;
    }
    if (said->env_missing) {
        err_set(err, "the variable %.60s, which \"workspace.env\" in the user's config file names, is not set",
                said->env_missing);
        return NULL;
    }
    if (!place->programs)
        place->programs = programs_new(&(struct programs_options){.loop = place->loop,
                                                                  .engine = said->engine,
                                                                  .numbered = place->numbered,
                                                                  .network = said->network,
                                                                  .emitter = &place->emitter,
                                                                  .provider = {provide, place},
                                                                  .limits = said->limits,
                                                                  .max_output = SPOOL_WINDOW},
                                       err);
    return place->programs;
}

/* A session has ended: its workspace is not what it was. */
static void session_ended(void *user)
{
    place_look(user);
}

struct exec *place_exec(struct place *place, struct err *err)
{
    if (!place_programs(place, err))
        return NULL;
    if (!place->exec)
        place->exec = exec_new(&(struct exec_options){
            .programs = place->programs, .policy = place->options.commands, .ended = session_ended, .user = place});
    return place->exec;
}

void place_number_from(struct place *place, unsigned number)
{
    if (place)
        place->numbered = number;
}

static void drop_programs(struct place *place)
{
    exec_free(place->exec);
    place->exec = NULL;
    programs_free(place->programs);
    place->programs = NULL;
}

int place_room(const struct place *place, struct err *err)
{
    CLEANUP(strbuf) struct strbuf names = STRBUF_INIT;
    size_t running = place->exec ? exec_running(place->exec, &names) : 0;
    if (running < place->options.programs_max)
        return 0;
    return err_set(err, "%zu programs run already, more are not allowed (workspace_kill ends one of %s)", running,
                   names.buf);
}

/* ---- keys ---- */

/* NULL: there is no program yet. */
static struct program_control *sessions(struct program_control *control)
{
    struct place *place = CONTAINER_OF(control, struct place, control);
    return place->exec ? exec_control(place->exec) : NULL;
}

static int control_ready(struct program_control *control, const char *program, struct err *err)
{
    struct program_control *own = sessions(control);
    return own ? own->ready(own, program, err) : err_set(err, "there is no program %.40s", program);
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

static int control_kill(struct program_control *control, const char *program, struct err *err)
{
    struct program_control *own = sessions(control);
    return own ? own->kill(own, program, err) : err_set(err, "there is no program %.40s", program);
}

static const struct program_control program_control = {
    .ready = control_ready, .write = control_write, .hides = control_hides, .kill = control_kill};

struct program_control *place_control(struct place *place)
{
    return place ? &place->control : NULL;
}

/* ---- the end ---- */

void place_end(struct place *place)
{
    struct err err = ERR_INIT;
    if (!place || place->ended)
        return;
    loop_timer_stop(place->loop, &place->watch);
    drop_programs(place);
    pthread_mutex_lock(&place->mutex);
    place->ended = true;
    pthread_mutex_unlock(&place->mutex);
    if (place->ws && workspace_cleanup(place->ws, &err))
        log_warn("workspace: %s", err.text);
    place_emit_ops(place);
    /* What a late thread still puts there goes with the folder around it, now or when the next session comes. */
    rooms_close(place->rooms);
    place->rooms = NULL;
}

static void forget(struct place *place)
{
    if (place->registry)
        workspace_registry_free(place->registry, false);
    versions_free(place->versions);
    event_queue_free(place->ops);
    free(place->moved);
    pthread_mutex_destroy(&place->mutex);
    arena_release(&place->arena);
    free(place);
}

void place_job_back(struct place *place)
{
    place->jobs--;
    if (place->gone && !place->jobs)
        forget(place);
}

void place_free(struct place *place)
{
    if (!place)
        return;
    place_end(place);
    place->gone = true;
    if (place->looking)
        loop_work_disown(place->loop, &place->look);
    if (!place->jobs)
        forget(place);
}
