/* The programs of a place. Those that go on beyond their call have a row here from their start to their end, whatever
 * tells of it: their own exit, a key, a call, or the end of the session. */

#include "base/json.h"
#include "base/mem.h"
#include "place.h"
#include "place_inside.h"
#include "sandbox/engines.h"
#include "spool.h"
#include "workspace/exec.h"
#include <string.h>

static struct placed_program *find(struct place *place, const char *id)
{
    struct placed_program *program = place->running;
    while (program && strcmp(program->id, id) != 0)
        program = program->next;
    return program;
}

/* ---- what they tell ---- */

static void report(struct place *place, struct event *event)
{
    if (place->emitter)
        emit(place->emitter, event);
}

static void print(void *user, const char *text, size_t len)
{
    struct placed_program *program = user;
    (void)len;
    report(program->place, &(struct event){.type = EVENT_PROGRAM_OUTPUT,
                                           .program_output = {.program = program->id, .text = text}});
}

static void on_started(void *user, const char *id, const char *command, const char *cwd, bool tty)
{
    struct place *place = user;
    struct placed_program *program = xcalloc(1, sizeof(*program));
    *program = (struct placed_program){.place = place, .id = xstrdup(id), .next = place->running};
    trickle_init(&program->prints, place->loop, PLACE_RECORDED_MAX, print, program);
    place->running = program;
    place->running_count++;
    report(place,
           &(struct event){
               .type = EVENT_PROGRAM_STARTED,
               .program_started = {.program = id, .call = place->call, .cmd = command, .cwd = cwd, .tty = tty}});
}

static void on_output(void *user, const char *id, const char *bytes, size_t len)
{
    struct placed_program *program = find(user, id);
    if (program)
        trickle_add(&program->prints, bytes, len);
}

/* What was printed before stands before what is typed, and that before the program gets it. */
static void on_typed(void *user, const char *id, const char *text)
{
    struct place *place = user;
    struct placed_program *program = find(place, id);
    if (!program)
        return;
    trickle_flush(&program->prints, false);
    report(place, &(struct event){.type = EVENT_PROGRAM_INPUT,
                                  .program_input = {.program = id, .text = text, .by = "call"}});
}

/* Its last words, and that it is gone. */
static void end(struct place *place, struct placed_program *program, const int *exit_code, const char *why)
{
    struct placed_program **at = &place->running;
    while (*at != program)
        at = &(*at)->next;
    *at = program->next;
    place->running_count--;
    trickle_flush(&program->prints, true);
    report(place, &(struct event){.type = EVENT_PROGRAM_ENDED,
                                  .program_ended = {.program = program->id,
                                                    .exit_code = exit_code ? *exit_code : EVENT_NULL_INT,
                                                    .why = why}});
    trickle_release(&program->prints);
    free(program->id);
    free(program);
}

static void on_ended(void *user, const char *id, const struct process_end *ended)
{
    struct place *place = user;
    struct placed_program *program = find(place, id);
    if (!program)
        return;
    CLEANUP(free) char *signal = ended->signum ? xasprintf("killed by signal %d", ended->signum) : NULL;
    const char *why = ended->why                      ? ended->why
                      : ended->timed_out              ? "timed out"
                      : program->by_key               ? "killed by key"
                      : ended->asked || ended->forced ? "killed by a call"
                      : signal                        ? signal
                                                      : "exited";
    bool killed = ended->why || ended->timed_out || ended->signum || ended->exit_code < 0;
    end(place, program, killed ? NULL : &ended->exit_code, why);
    place_look(place);
}

static void on_connected(void *user, const char *call, const char *host, unsigned port, int64_t bytes)
{
    report(user, &(struct event){.type = EVENT_NETWORK_CONNECTED,
                                 .network_connected = {.call = call, .host = host, .port = port, .bytes = bytes}});
}

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
                                                                  .connected = on_connected,
                                                                  .connected_user = place,
                                                                  .provider = {provide, place},
                                                                  .limits = said->limits,
                                                                  .max_output = SPOOL_WINDOW},
                                       err);
    return place->programs;
}

struct exec *place_exec(struct place *place, struct err *err)
{
    if (!place_programs(place, err))
        return NULL;
    struct exec_listener listener = {
        .started = on_started, .output = on_output, .typed = on_typed, .ended = on_ended, .user = place};
    if (!place->exec)
        place->exec = exec_new(&(struct exec_options){
            .programs = place->programs, .policy = place->options.commands, .listener = listener});
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
    while (place->running)
        end(place, place->running, NULL, "killed: the session ended");
    free(place->call);
    place->call = NULL;
}

int place_room(const struct place *place, struct err *err)
{
    if (place->running_count < place->options.programs_max)
        return 0;
    CLEANUP(strbuf) struct strbuf names = STRBUF_INIT;
    for (const struct placed_program *program = place->running; program; program = program->next)
        strbuf_addf(&names, "%s%s", names.len ? ", " : "", program->id);
    return err_set(err, "%zu programs run already, more are not allowed (workspace_kill ends one of %s)",
                   place->running_count, names.buf);
}

void place_starting(struct place *place, const char *call)
{
    free(place->call);
    place->call = call ? xstrdup(call) : NULL;
}

/* ---- keys ---- */

static struct place *place_of(struct program_control *control)
{
    return CONTAINER_OF(control, struct place, control);
}

static int no_program(struct err *err, const char *program)
{
    return err_set(err, "there is no program %.40s", program);
}

static int control_ready(struct program_control *control, const char *program, struct err *err)
{
    struct place *place = place_of(control);
    struct placed_program *row = find(place, program);
    if (!row || !place->exec)
        return no_program(err, program);
    trickle_flush(&row->prints, false);
    return exec_control(place->exec)->ready(exec_control(place->exec), program, err);
}

static void control_write(struct program_control *control, const char *program, const char *text, size_t len)
{
    struct place *place = place_of(control);
    if (place->exec)
        exec_control(place->exec)->write(exec_control(place->exec), program, text, len);
}

static bool control_hides(struct program_control *control, const char *program)
{
    struct place *place = place_of(control);
    return place->exec && exec_control(place->exec)->hides(exec_control(place->exec), program);
}

static int control_kill(struct program_control *control, const char *program, struct err *err)
{
    struct place *place = place_of(control);
    struct placed_program *row = find(place, program);
    if (!row || !place->exec)
        return no_program(err, program);
    row->by_key = true;
    return exec_control(place->exec)->kill(exec_control(place->exec), program, err);
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
