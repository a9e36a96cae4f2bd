#include "trial_program.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/complaints.h"
#include "sandbox/engines_program.h"
#include "sandbox/rooms.h"
#include "workspace/workspace.h"
#include <string.h>

#define LIMIT_MS 10000

struct running {
    struct loop *loop;
    struct program_result result;
    bool over;
    char *said; /* by the engine */
};

static void on_done(void *user, struct program_result *take_result)
{
    struct running *running = user;
    running->result = *take_result;
    running->over = true;
    loop_stop(running->loop);
}

/* As podman and docker say it, of which neither fails for it. */
static bool tells_of_limits(const char *text)
{
    return strcasestr(text, "limit") &&
           (strstr(text, "ignored") || strstr(text, "discarded") || strstr(text, "not support"));
}

static void on_said(void *user, const char *line)
{
    struct running *running = user;
    free(running->said);
    running->said = xstrdup(line);
}

static int judge(struct program_trial *trial, struct running *running, struct err *err)
{
    const struct program_result *result = &running->result;
    const struct process_end *end = &result->end;
    CLEANUP(free)
    char *line = running->said ? steal(&running->said) : complaints_line(result->err.buf, result->err.len);
    if (end->timed_out)
        return err_set(err, "a program in it does not end within %d s%s%s", LIMIT_MS / 1000, line ? ": " : "",
                       line ? line : "");
    if (end->why)
        return err_set(err, "%s", end->why);
    if (end->exit_code != 0)
        return err_set(err, "a program in it fails%s%s", line ? ": " : "", line ? line : "");
    trial->ignores = line && tells_of_limits(line);
    trial->says = steal(&line);
    return 0;
}

static int run_in(struct program_trial *trial, struct workspace *ws, struct err *err)
{
    struct running running = {.loop = loop_new(clock_system())};
    struct programs *programs = programs_new(&(struct programs_options){.loop = running.loop,
                                                                        .engine = trial->engine,
                                                                        .network = trial->network,
                                                                        .limits = trial->limits,
                                                                        .engine_says = on_said,
                                                                        .engine_user = &running},
                                             err);
    struct program_spec spec = {.cmd = "true", .timeout_ms = LIMIT_MS};
    int status = -1;
    if (programs && program_run(programs, ws, &spec, on_done, &running, err)) {
        while (!running.over)
            loop_run(running.loop);
        status = judge(trial, &running, err);
        program_result_release(&running.result);
    }
    programs_free(programs);
    loop_free(running.loop);
    free(running.said);
    return status;
}

/* Where workspaces of sessions are: what is left of it when we are killed goes with theirs. */
int program_trial_run(struct program_trial *trial, struct err *err)
{
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "workspaces");
    struct rooms *rooms = rooms_open(folder, err);
    CLEANUP(free) char *base = rooms ? rooms_make(rooms, "trial", err) : NULL;
    struct workspace_options options = {.base = base,
                                        .other_user = sandbox_program_is_other_user(trial->engine),
                                        .seen_at = trial->engine->program->workspace};
    struct workspace *ws =
        base ? workspace_create(&options, "trial", &(struct workspace_policy){.isolated = !trial->engine->unsafe}, err)
             : NULL;
    int status = ws ? run_in(trial, ws, err) : -1;
    workspace_free(ws);
    if (rooms)
        rooms_close(rooms);
    return status;
}

void program_trial_release(struct program_trial *trial)
{
    free(trial->says);
}
