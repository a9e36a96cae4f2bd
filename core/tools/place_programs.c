/* The programs of a place: made when the first call needs them, ended with the session. */

#include "base/mem.h"
#include "place.h"
#include "place_inside.h"
#include "sandbox/engines.h"
#include "spool.h"
#include "workspace/exec.h"
#include <string.h>

/* ---- making and ending them ---- */

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

void place_drop_programs(struct place *place)
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

void place_control_init(struct place *place)
{
    place->control = (struct program_control){
        .ready = control_ready, .write = control_write, .hides = control_hides, .kill = control_kill};
}

struct program_control *place_control(struct place *place)
{
    return place ? &place->control : NULL;
}
