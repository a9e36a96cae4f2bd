/* Runs one program in a workspace (program.h).
 *
 * The process (base/process.h) is an engine that runs keyturn-launch. This file adds what a program needs besides: its
 * control group, its network, its system call filter, the disk limit of its workspace, and one more try if the engine
 * asks for it. A program is over when its process has ended and its workspace has been counted. */

#include "program.h"
#include "base/launcher.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "disk_watch.h"
#include "event/rate_limit.h"
#include "look.h"
#include "program_network.h"
#include "program_vector.h"
#include "programs_internal.h"
#include "sandbox/engines_program.h"
#include "sandbox/limits.h"
#include "sandbox/process_output.h"
#include "workspace.h"
#include <string.h>

struct program {
    struct programs *programs;
    struct program *next, **link; /* list of running programs */
    struct program_prints prints;
    struct program_result result;
    void (*done)(void *user, struct program_result *take_result);
    void *user;
    struct program_vector vector;
    struct process *process; /* NULL: ended */
    struct cgroup *cgroup;
    struct program_network *network; /* NULL: no network */
    struct span span;
    struct loop_task telling;
    struct disk_watch *disk; /* NULL: no disk limit */
    struct workspace *ws;
    struct run_folder run;
    char *input;
    char *full;   /* why the workspace is full */
    char *around; /* the folder in which the engine starts */
    size_t input_len;
    int64_t began_us, timeout_ms;
    bool keep_input, over_disk, again;
    bool ordered; /* in a sandbox that stood ready */
    bool begun;   /* the workspace counts it as running */
};

/* ---- the list of running programs ---- */

static void join_running(struct program *program)
{
    program->next = program->programs->running;
    program->link = &program->programs->running;
    if (program->next)
        program->next->link = &program->next;
    *program->link = program;
}

static void leave_running(struct program *program)
{
    if (!program->link)
        return;
    *program->link = program->next;
    if (program->next)
        program->next->link = program->link;
    program->link = NULL;
}

static void release_program(struct program *program)
{
    run_folder_end(&program->run, program->programs, program->ws);
    process_free(program->process);
    program_network_free(program->network);
    disk_watch_free(program->disk);
    cgroup_free(program->cgroup);
    program_vector_release(&program->vector);
    program_result_release(&program->result);
    free(program->input);
    free(program->full);
    free(program->around);
    free(program);
}

/* ---- starting ---- */

static const struct process_ops process_ops;

static void take_network(void *user, int take_fd)
{
    struct program *program = user;
    program_network_take(program->network, take_fd);
}

static int launch_program(struct program *program, struct err *err)
{
    struct programs *programs = program->programs;
    int64_t left_ms = program->timeout_ms - (loop_now_us(programs->loop) - program->began_us) / 1000;
    struct process_spec spec = {.cwd = program->around,
                                .input = program->input,
                                .input_len = program->input_len,
                                .keep_input = program->keep_input,
                                .timeout_ms = left_ms > 0 ? left_ms : 1,
                                .network = program->network ? take_network : NULL};
    program->process = program_engine_start(programs, &program->vector, program->cgroup,
                                            program->again || programs->again, &spec, &process_ops, program, err);
    return program->process ? 0 : -1;
}

/* Uses the sandbox that stands ready. False: there is none for this program. */
static bool order_program(struct program *program)
{
    const struct program_vector *vector = &program->vector;
    if (vector->tty)
        return false;
    struct process_order order = {
        .input = program->input,
        .input_len = program->input_len,
        .keep_input = program->keep_input,
        .timeout_ms = program->timeout_ms,
        .limits = {.memory_mb = vector->memory_mb, .cpu_s = vector->cpu_s, .files_mb = vector->files_mb},
        .ops = &process_ops,
        .network = program->network ? take_network : NULL,
        .user = program};
    program->process =
        ready_sandbox_take(program->programs->ready, program->ws, &program->vector, &order, &program->cgroup);
    program->ordered = program->process;
    return program->ordered;
}

/* Starts a sandbox for the program, without one that stands ready. */
static int launch_cold(struct program *program, struct err *err)
{
    program->cgroup = program_bounds_group(&program->vector);
    return launch_program(program, err);
}

int64_t program_timeout_ms(int64_t said_ms)
{
    return said_ms > 0 ? said_ms : PROGRAM_TIMEOUT_MS;
}

static struct program *new_program(struct programs *programs, struct workspace *ws, const struct program_spec *spec,
                                   struct program_room *room)
{
    struct program *program = xcalloc(1, sizeof(*program));
    *program = (struct program){.programs = programs,
                                .keep_input = spec->keep_input,
                                .input = spec->input ? xmemdup0(spec->input, spec->input_len) : NULL,
                                .input_len = spec->input_len,
                                .around = program_engine_folder(ws),
                                .began_us = loop_now_us(programs->loop),
                                .timeout_ms = program_timeout_ms(spec->timeout_ms),
                                .prints = spec->prints};
    strbuf_init(&program->result.out);
    strbuf_init(&program->result.err);
    programs->started++;
    program->ws = ws;
    program->run = room->run;
    room->run = (struct run_folder){.watch = -1};
    program_vector_fill(&program->vector, programs, ws, spec, room);
    return program;
}

static void cannot_start(struct program *program, const char *reason);
static void end_program(struct program *program);
static void disk_full(void *user, const char *why);
static void disk_counted(void *user, const char *why);

struct program *program_run(struct programs *programs, struct workspace *ws, const struct program_spec *spec,
                            void (*done)(void *user, struct program_result *take_result), void *user, struct err *err)
{
    struct err own = ERR_INIT;
    struct program_room room = {0};
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_RUN);
    json_add_str(&span.attrs, SPAN_CMD, spec->cmd ? spec->cmd : "");
    json_add_str(&span.attrs, SPAN_CWD, spec->cwd ? spec->cwd : "");
    if (program_room_make(&room, programs, ws, spec, &own)) {
        run_folder_end(&room.run, programs, ws);
        program_room_release(&room);
        span_end(&span, -1, &own, err);
        return NULL;
    }
    struct program *program = new_program(programs, ws, spec, &room);
    program_room_release(&room);
    program->done = done;
    program->user = user;
    program->span = span;
    program->span.attrs.out = &program->span.text;
    join_running(program);
    if (!*program->vector.argv[0]) {
        cannot_start(program, "");
        end_program(program);
        return program;
    }
    if (program->vector.network)
        program->network = program_network_new(programs, spec->call, &program->vector, &own);
    workspace_program_begins(ws); /* before it can write: a walk that ends meanwhile must know of it */
    if ((program->vector.network && !program->network) || (!order_program(program) && launch_cold(program, &own))) {
        workspace_program_ended(ws, true);
        span_end(&program->span, -1, &own, err);
        leave_running(program);
        release_program(program);
        return NULL;
    }
    program->begun = true;
    program->disk = disk_watch_new(programs->loop, ws, disk_full, disk_counted, program);
    return program;
}

struct process *program_process(const struct program *program)
{
    return program->process;
}

const struct program_result *program_printed(const struct program *program)
{
    return &program->result;
}

/* ---- output ---- */

/* Logs the engine's stderr output while its program runs. Few users need it. */
static void tell_complaints(struct program *program, const char *said, size_t len)
{
    const struct programs *programs = program->programs;
    CLEANUP(free) char *line = engine_stderr_line(said, len);
    if (line && programs->engine_says)
        programs->engine_says(programs->engine_user, line);
    else if (line)
        log_info("message of the sandbox %s: %s", program->vector.engine->name, line);
}

static void program_started(void *user)
{
    struct program *program = user;
    program->programs->works = true;
}

static void program_output(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    struct program *program = user;
    const struct program_prints *prints = &program->prints;
    if (stream == PROCESS_ENGINE_STDERR) {
        tell_complaints(program, bytes, len);
        return;
    }
    struct strbuf *kept = stream == PROCESS_STDOUT ? &program->result.out : &program->result.err;
    size_t room = program->programs->max_output - kept->len;
    strbuf_add(kept, bytes, len < room ? len : room);
    *(stream == PROCESS_STDOUT ? &program->result.out_bytes : &program->result.err_bytes) += len;
    if (prints->lines)
        output_lines_add(prints->lines, bytes, len);
    if (prints->record[stream])
        rate_limit_add(prints->record[stream], bytes, len);
    if (prints->watch)
        prints->watch(prints->user, stream, bytes, len);
}

/* ---- the end ---- */

static void cannot_start(struct program *program, const char *reason)
{
    free(program->result.why);
    program->result.why = *program->vector.argv[0] ? xasprintf("cannot start %s: %s", program->vector.argv[0], reason)
                                                   : xstrdup("no program to start");
    program->result.end.exit_code = -1;
}

/* The engine's stderr explains the failure; it is not output of the program. */
static void blame_engine(struct program *program, const struct process_end *end)
{
    const struct sandbox_engine *engine = program->vector.engine;
    const char *said = end->engine_said;
    const char *image = sandbox_engine_uses(engine, "image") ? program->programs->image : NULL;
    CLEANUP(free) char *line = engine_stderr_line(said, strlen(said));
    CLEANUP(free) char *cause = engine_stderr_cause(said, image ? image : BOX_IMAGE);
    program->result.why =
        xasprintf("the sandbox %s failed (%s %d)%s%s%s%s", engine->name, end->status_signal ? "signal" : "status",
                  end->status_signal ? end->status_signal : end->status, cause || line ? ": " : "", cause ? cause : "",
                  cause && line ? ": " : "", line ? line : "");
}

static void explain_end(struct program *program, const struct process_end *end)
{
    bool ran_out = !program->result.why && end->exit_code != 0 && cgroup_ran_out(program->cgroup);
    if (end->error)
        cannot_start(program, strerror(end->error));
    else if (ran_out)
        program->result.why = xasprintf("it was killed: it used more than %u MB of memory", program->vector.memory_mb);
    else if (end->lost)
        blame_engine(program, end);
    if (!end->lost || ran_out)
        tell_complaints(program, end->engine_said, strlen(end->engine_said));
    program->result.end.over_limit |= ran_out;
    program->result.end.engine_failed &= !ran_out;
}

/* A sandbox that stood ready may have died just before its order came. */
static bool died_before(const struct program *program, const struct process_end *end)
{
    return program->ordered && end->engine_failed && !cgroup_ran_out(program->cgroup);
}

/* Engine output before the second try is not the program's output. */
static bool may_try_again(const struct program *program, const struct process_end *end)
{
    const struct sandbox_engine *engine = program->vector.engine;
    const struct programs *programs = program->programs;
    return end->lost && engine->retry && !program->again && !programs->again && !programs->works &&
           strstr(end->engine_said, engine->retry_on);
}

static void program_ended(void *user, const struct process_end *end)
{
    struct program *program = user;
    struct err err = ERR_INIT;
    process_free(steal(&program->process));
    if (died_before(program, end)) {
        program->ordered = false;
        cgroup_free(steal(&program->cgroup));
        if (launch_cold(program, &err) == 0)
            return;
        cannot_start(program, err.text);
        end_program(program);
        return;
    }
    if (may_try_again(program, end)) {
        program->again = program->programs->again = true;
        if (launch_program(program, &err) == 0)
            return;
        cannot_start(program, err.text);
        end_program(program);
        return;
    }
    if (end->error)
        program->programs->works = true;
    program->result.end = *end;
    memcpy(program->result.left, end->left, end->left_count * sizeof(*end->left));
    program->result.why = end->why ? xstrdup(end->why) : NULL;
    explain_end(program, end);
    end_program(program);
}

static const struct process_ops process_ops = {program_started, program_output, program_ended};

/* The program may have ended before the disk watch could kill it. */
static void blame_disk(struct program *program)
{
    program->result.end.over_limit |= program->over_disk;
    if (program->full && !program->result.why)
        program->result.why =
            xasprintf("%s%s", program->result.end.forced && program->result.end.exit_code < 0 ? "it was killed: " : "",
                      program->full);
}

static void report_end(struct program *program)
{
    struct err own = ERR_INIT;
    struct process_end *end = &program->result.end;
    blame_disk(program);
    end->duration_ms = (loop_now_us(program->programs->loop) - program->began_us) / 1000;
    end->left = NULL; /* the result copies `left` by value */
    end->why = program->result.why;
    end->engine_said = "";
    json_add_int(&program->span.attrs, SPAN_EXIT_CODE, end->exit_code);
    json_add_bool(&program->span.attrs, SPAN_TIMED_OUT, end->timed_out);
    err_set(&own, "%s", end->why ? end->why : "");
    leave_running(program);
    ready_sandbox_prepare(program->programs->ready, program->ws);
    span_end(&program->span, end->why ? -1 : 0, &own, NULL);
    struct program_result result = program->result;
    void (*done)(void *user, struct program_result *take_result) = program->done;
    void *user = program->user;
    program->result = (struct program_result){0};
    release_program(program);
    done(user, &result);
}

static void end_task(struct loop_task *task)
{
    report_end(CONTAINER_OF(task, struct program, telling));
}

/* Its processes have ended, unless the engine died before them. */
static void leave_workspace(struct program *program)
{
    const struct process_end *end = &program->result.end;
    run_folder_end(&program->run, program->programs, program->ws);
    if (program->begun)
        workspace_program_ended(program->ws, !end->survivors && !end->status_signal);
    program->begun = false;
}

static void end_program(struct program *program)
{
    program_network_free(steal(&program->network));
    cgroup_free(steal(&program->cgroup));
    leave_workspace(program);
    if (program->disk)
        disk_watch_finish(program->disk);
    else
        loop_post(program->programs->loop, &program->telling, end_task);
}

/* ---- the disk ---- */

/* Records that the workspace is above its limit. An earlier cause stays. */
static void note_full(struct program *program, const char *why)
{
    program->over_disk = true;
    if (!program->result.why && !program->full)
        program->full = xstrdup(why);
}

static void disk_full(void *user, const char *why)
{
    struct program *program = user;
    if (program->process && process_kill(program->process, 0))
        note_full(program, why);
}

static void disk_counted(void *user, const char *why)
{
    struct program *program = user;
    if (why)
        note_full(program, why);
    report_end(program);
}

void program_free(struct program *program)
{
    static const struct err dropped = {.text = "it was stopped"};
    if (!program)
        return;
    loop_unpost(program->programs->loop, &program->telling);
    process_free(steal(&program->process));
    leave_running(program);
    span_end(&program->span, -1, &dropped, NULL);
    release_program(program);
}
