/* workspace_exec, workspace_write_stdin, workspace_kill: commands in the session's workspace (workspace/exec.h).
 *
 *   start ──► the workspace is had ──► the command runs, or is looked at ──► the workspace is looked at ──► finished
 *                                         │ cancelled: a command that runs to its end is killed with all it started,
 *                                         ▼ one that goes on beyond its call goes on
 *                                      finished
 *
 * A command's time ends a little before the call's, so that its output until then is still told. What it prints is
 * shown as it comes: as the call's output when it runs to its end, as the program's own when it goes on. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "long_text.h"
#include "place.h"
#include "place_job.h"
#include "spool.h"
#include "workspace/exec.h"
#include "workspace/program_control.h"
#include <string.h>

struct exec_call {
    struct place_job job;
    struct arena arena;
    struct exec *exec;          /* while it is waited for */
    struct call_prints printed; /* by a command that runs to its end */
    char *result;
    int (*begin)(struct exec_call *call, struct err *err);
};

static void release(struct place_job *job)
{
    struct exec_call *call = CONTAINER_OF(job, struct exec_call, job);
    call_prints_release(&call->printed);
    arena_release(&call->arena);
    free(call->result);
    free(call);
}

/* ---- the end ---- */

/* Of a short output the result has all of it, one stream after the other. A long one is told as it was printed. */
static void add_output(struct exec_call *call, struct json_writer *w, const struct json *output)
{
    const struct tool_run *run = call->job.run;
    if (call->printed.kept[0].spilled)
        spool_write(&call->printed.kept[0], w, "output", "", LONG_TEXT_ROOM);
    else
        long_text_add(w, "output", "", output->text, output->len, LONG_TEXT_ROOM, run->env, run->tool->spec.name);
}

static bool is_about_length(const char *key)
{
    return strcmp(key, "truncated") == 0 || strcmp(key, "total_bytes") == 0;
}

/* On a thread: what was printed may be long. */
static void write_result(struct place_job *job)
{
    struct exec_call *call = CONTAINER_OF(job, struct exec_call, job);
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    const struct json *result = json_parse(&call->arena, call->result, strlen(call->result), NULL);
    if (strcmp(json_str(json_get(result, "status"), ""), "failed") == 0) {
        job->failed = true;
        err_set(&job->err, "%s", json_str(json_get(result, "error"), ""));
        return;
    }
    json_open(&w, NULL, '{');
    json_each (member, result) {
        if (strcmp(member->key, "output") == 0)
            add_output(call, &w, member);
        else if (!is_about_length(member->key)) /* said with the output */
            json_add_value(&w, member->key, member);
    }
    if (!json_get(result, "error"))
        place_warn(&w, job);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void on_done(void *user, const char *result)
{
    struct exec_call *call = user;
    call->exec = NULL;
    call->result = xstrdup(result);
    call_prints_end(&call->printed);
    place_job_answer(&call->job, write_result);
}

/* ---- the beginning ---- */

static void begin(struct place_job *job)
{
    struct exec_call *call = CONTAINER_OF(job, struct exec_call, job);
    struct err err = ERR_INIT;
    if (!place_job_goes_on(job))
        return;
    struct exec *exec = place_exec(job->place, &err);
    call->exec = exec;
    if (!exec || call->begin(call, &err) < 0) {
        call->exec = NULL;
        place_job_refuse(job, "%s", err.text);
    }
}

/* NULL: the call is refused. */
static struct exec_call *new_call(struct tool_run *run, int (*begins)(struct exec_call *call, struct err *err))
{
    if (place_missing(run))
        return NULL;
    struct exec_call *call = xcalloc(1, sizeof(*call));
    call->job = (struct place_job){.run = run, .then = begin, .release = release};
    call->begin = begins;
    call_prints_init(&call->printed, run, false);
    run->state = call;
    return call;
}

static void cancel(struct tool_run *run)
{
    struct exec_call *call = run->state;
    if (!call || call->job.out || !call->exec)
        return; /* a thread has it: it comes back by itself */
    exec_cancel(call->exec, call);
    place_job_cancelled(&call->job);
}

/* A look ends before its call does, too, or that would have timed out. */
static int64_t look_ms(const struct place_job *job, int64_t said_ms)
{
    double left_ms = (deadline_remaining_s(&job->run->deadline) - DEADLINE_LAST_WORD_S) * 1000;
    if (said_ms <= 0 || (double)said_ms <= left_ms)
        return said_ms;
    return left_ms > 1 ? (int64_t)left_ms : 1;
}

/* ---- workspace_exec ---- */

static int begin_command(struct exec_call *call, struct err *err)
{
    struct place_job *job = &call->job;
    struct exec_request request;
    struct programs *programs = place_programs(job->place, err);
    if (!programs || exec_request_read(&request, &call->arena, job->run->arguments, &place_said(job->place)->commands,
                                       programs_root(programs, job->ws->path), err))
        return -1;
    request.timeout_ms = request.one_shot ? place_job_time_ms(job, request.timeout_ms)
                                          : place_timeout_ms(job->place, request.timeout_ms);
    if (!request.timeout_ms)
        return err_set(err, "there was no time left for it");
    if (!request.one_shot && place_room(job->place, err))
        return -1;
    request.yield_ms = look_ms(job, request.yield_ms);
    request.call = job->run->call;
    struct program_prints prints = call_prints_for(&call->printed);
    return exec_begin(call->exec, job->ws, &request, &prints, on_done, call, err);
}

static void start_exec(struct tool_run *run)
{
    struct exec_call *call = new_call(run, begin_command);
    if (call)
        place_job_launch(&call->job, json_str(json_get(run->arguments, "command"), ""));
}

const struct tool tool_workspace_exec = {
    .spec =
        {
            .name = "workspace_exec",
            .description = "Run a shell command in the session's own workspace, in a sandbox: skills/ work/ runs/ "
                           "out/, none of the user's "
                           "files (stage_input copies some there, bring_back proposes results). Runs to its end, "
                           "unless background, tty or "
                           "yield_time_ms is given: then the answer comes while it still runs, with a session_id for "
                           "workspace_write_stdin and workspace_kill.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"for sh\"},"
                "\"cwd\":{\"type\":\"string\",\"description\":\"a folder of the workspace, its root if not given\"},"
                "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},\"description\":\"more "
                "variables\"},"
                "\"stdin\":{\"type\":\"string\",\"description\":\"what it reads first\"},"
                "\"timeout_sec\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"300 if not given\"},"
                "\"timeoutSec\":{\"type\":\"integer\"},\"timeout\":{\"type\":\"integer\"},"
                "\"yield_time_ms\":{\"type\":\"integer\",\"minimum\":0,"
                "\"description\":\"answer after so long at the latest; it goes on\"},"
                "\"yieldMs\":{\"type\":\"integer\"},"
                "\"background\":{\"type\":\"boolean\",\"description\":\"answer at once; it goes on\"},"
                "\"tty\":{\"type\":\"boolean\",\"description\":\"with a terminal of its own\"},"
                "\"pty\":{\"type\":\"boolean\"}},"
                "\"required\":[\"command\"],\"additionalProperties\":false}",
            .timeout_s = PLACE_LONGEST_S,
        },
    .effect = place_effect,
    .start = start_exec,
    .cancel = cancel,
};

/* ---- workspace_write_stdin ---- */

static int begin_write(struct exec_call *call, struct err *err)
{
    return exec_write_within(call->exec, call->job.run->arguments, look_ms(&call->job, INT64_MAX), on_done, call, err);
}

/* Nobody is asked, whatever the engine: who allowed the program allowed it to be spoken with. */
static void start_write(struct tool_run *run)
{
    struct exec_call *call = new_call(run, begin_write);
    if (call)
        place_job_start(&call->job);
}

#define SESSION_ID                                                                        \
    "\"session_id\":{\"type\":\"string\",\"description\":\"as workspace_exec gave it\"}," \
    "\"sessionId\":{\"type\":\"string\"}"

const struct tool tool_workspace_write_stdin = {
    .spec =
        {
            .name = "workspace_write_stdin",
            .description =
                "Type into a program that workspace_exec left running, and see what it prints. Without chars it "
                "only looks.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{" SESSION_ID ","
                "\"chars\":{\"type\":\"string\",\"description\":\"typed as they are\"},"
                "\"append_newline\":{\"type\":\"boolean\",\"description\":\"and Enter\"},"
                "\"submit\":{\"type\":\"boolean\"},"
                "\"eof\":{\"type\":\"boolean\",\"description\":\"and the end of its input\"},"
                "\"yield_time_ms\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"look for so long, 200 if "
                "not given\"},\"yieldMs\":{\"type\":\"integer\"}},"
                "\"additionalProperties\":false}",
        },
    .effect = place_effect,
    .start = start_write,
    .cancel = cancel,
};

/* ---- workspace_kill ---- */

static int begin_kill(struct exec_call *call, struct err *err)
{
    return exec_kill(call->exec, call->job.run->arguments, on_done, call, err);
}

static void start_kill(struct tool_run *run)
{
    struct exec_call *call = new_call(run, begin_kill);
    if (call)
        place_job_start(&call->job);
}

const struct tool tool_workspace_kill = {
    .spec =
        {
            .name = "workspace_kill",
            .description = "End a program that workspace_exec left running, and all it started.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{" SESSION_ID "},\"additionalProperties\":false}",
        },
    .effect = place_effect,
    .start = start_kill,
    .cancel = cancel,
};
