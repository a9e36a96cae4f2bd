/* workspace_exec, workspace_write_stdin, workspace_kill: commands in the session's workspace (workspace/exec.h).
 *
 *   start ──► open the workspace ──► the command runs, or is polled ──► list the workspace ──► finished
 *                                       │ canceled: a command that runs to its end is killed with its children,
 *                                       ▼ a background command continues
 *                                    finished
 *
 * A command's time ends a little before the call's, so that its output until then can be reported. Output is shown
 * while it arrives: as the call's output for a command that runs to its end, as the program's own in the background. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "output_limit.h"
#include "runtime.h"
#include "runtime_job.h"
#include "spool.h"
#include "workspace/exec.h"
#include "workspace/program_control.h"
#include <string.h>

struct exec_call {
    struct runtime_job job;
    struct arena arena;
    struct exec *exec;          /* while the call waits for it */
    struct call_prints printed; /* output of a command that runs to its end */
    char *result;
    int (*begin)(struct exec_call *call, struct err *err);
};

static void release(struct runtime_job *job)
{
    struct exec_call *call = CONTAINER_OF(job, struct exec_call, job);
    call_prints_release(&call->printed);
    arena_release(&call->arena);
    free(call->result);
    free(call);
}

/* ---- the end ---- */

/* A short output is in the result as a whole, one stream after the other. A long one is in the order it was printed. */
static void add_output(struct exec_call *call, struct json_writer *w, const struct json *output)
{
    const struct tool_run *run = call->job.run;
    if (call->printed.kept[0].spilled)
        spool_write(&call->printed.kept[0], w, "output", "", LONG_TEXT_ROOM);
    else
        output_limit_add_text(w, "output", "", output->text, output->len, LONG_TEXT_ROOM, run->env,
                              run->tool->spec.name);
}

static bool is_about_length(const char *key)
{
    return strcmp(key, "truncated") == 0 || strcmp(key, "total_bytes") == 0;
}

/* On a thread, because the output may be long. */
static void write_result(struct runtime_job *job)
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
        else if (!is_about_length(member->key)) /* reported with the output */
            json_add_value(&w, member->key, member);
    }
    if (!json_get(result, "error"))
        runtime_warn(&w, job);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void on_command_done(void *user, const char *result)
{
    struct exec_call *call = user;
    call->exec = NULL;
    call->result = xstrdup(result);
    call_prints_end(&call->printed);
    runtime_job_answer(&call->job, write_result);
}

/* ---- the beginning ---- */

static void begin_exec_call(struct runtime_job *job)
{
    struct exec_call *call = CONTAINER_OF(job, struct exec_call, job);
    struct err err = ERR_INIT;
    if (!runtime_job_goes_on(job))
        return;
    struct exec *exec = runtime_exec(job->runtime, &err);
    call->exec = exec;
    if (!exec || call->begin(call, &err) < 0) {
        call->exec = NULL;
        runtime_job_refuse(job, "%s", err.text);
    }
}

/* NULL: the call was refused. */
static struct exec_call *new_call(struct tool_run *run, int (*begins)(struct exec_call *call, struct err *err))
{
    if (runtime_missing(run))
        return NULL;
    struct exec_call *call = xcalloc(1, sizeof(*call));
    call->job = (struct runtime_job){.run = run, .then = begin_exec_call, .release = release};
    call->begin = begins;
    call_prints_init(&call->printed, run, false);
    run->state = call;
    return call;
}

static void cancel(struct tool_run *run)
{
    struct exec_call *call = run->state;
    if (!call || call->job.out || !call->exec)
        return; /* the job runs on a thread and returns on its own */
    exec_cancel(call->exec, call);
    runtime_job_cancelled(&call->job);
}

/* A poll ends before its call does, because otherwise the call would time out. */
static int64_t look_ms(const struct runtime_job *job, int64_t said_ms)
{
    double left_ms = (deadline_remaining_s(&job->run->deadline) - DEADLINE_LAST_WORD_S) * 1000;
    if (said_ms <= 0 || (double)said_ms <= left_ms)
        return said_ms;
    return left_ms > 1 ? (int64_t)left_ms : 1;
}

/* ---- workspace_exec ---- */

static int begin_command(struct exec_call *call, struct err *err)
{
    struct runtime_job *job = &call->job;
    struct exec_request request;
    struct programs *programs = runtime_programs(job->runtime, err);
    if (!programs ||
        exec_request_read(&request, &call->arena, job->run->arguments, &runtime_said(job->runtime)->commands,
                          programs_root(programs, job->ws->path), err))
        return -1;
    request.timeout_ms = request.one_shot ? runtime_job_time_ms(job, request.timeout_ms)
                                          : runtime_timeout_ms(job->runtime, request.timeout_ms);
    if (!request.timeout_ms)
        return err_set(err, "no time left");
    if (!request.one_shot && runtime_room(job->runtime, err))
        return -1;
    request.yield_ms = look_ms(job, request.yield_ms);
    request.call = job->run->call;
    struct program_prints prints = call_prints_for(&call->printed);
    return exec_begin(call->exec, job->ws, &request, &prints, on_command_done, call, err);
}

static void start_exec(struct tool_run *run)
{
    struct exec_call *call = new_call(run, begin_command);
    if (call)
        runtime_job_launch(&call->job, json_str(json_get(run->arguments, "command"), ""));
}

const struct tool tool_workspace_exec = {
    .spec =
        {
            .name = "workspace_exec",
            .description = "Run a shell command in the session's own workspace, in a sandbox: skills/ work/ runs/ "
                           "out/, none of the user's "
                           "files (stage_input copies some there, bring_back proposes results). Returns when the "
                           "command exits. With background, tty or yield_time_ms it returns while the command still "
                           "runs, with a session_id for workspace_write_stdin and workspace_kill.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"command\":{\"type\":\"string\",\"minLength\":1,\"description\":\"for sh\"},"
                "\"cwd\":{\"type\":\"string\",\"description\":\"a folder of the workspace; default: its root\"},"
                "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},\"description\":\"more "
                "variables\"},"
                "\"stdin\":{\"type\":\"string\",\"description\":\"its standard input\"},"
                "\"timeout_sec\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"default 300\"},"
                "\"timeoutSec\":{\"type\":\"integer\"},\"timeout\":{\"type\":\"integer\"},"
                "\"yield_time_ms\":{\"type\":\"integer\",\"minimum\":0,"
                "\"description\":\"return after at most this long; the command keeps running\"},"
                "\"yieldMs\":{\"type\":\"integer\"},"
                "\"background\":{\"type\":\"boolean\",\"description\":\"return at once; the command keeps running\"},"
                "\"tty\":{\"type\":\"boolean\",\"description\":\"run it in a terminal\"},"
                "\"pty\":{\"type\":\"boolean\"}},"
                "\"required\":[\"command\"],\"additionalProperties\":false}",
            .timeout_s = RUNTIME_LONGEST_S,
        },
    .effect = runtime_effect,
    .start = start_exec,
    .cancel = cancel,
};

/* ---- workspace_write_stdin ---- */

static int begin_write(struct exec_call *call, struct err *err)
{
    return exec_write_within(call->exec, call->job.run->arguments, look_ms(&call->job, INT64_MAX), on_command_done,
                             call, err);
}

/* Input needs no approval, whatever the engine: approval of the program includes its input. */
static void start_write(struct tool_run *run)
{
    struct exec_call *call = new_call(run, begin_write);
    if (call)
        runtime_job_start(&call->job);
}

#define SESSION_ID                                                                  \
    "\"session_id\":{\"type\":\"string\",\"description\":\"from workspace_exec\"}," \
    "\"sessionId\":{\"type\":\"string\"}"

const struct tool tool_workspace_write_stdin = {
    .spec =
        {
            .name = "workspace_write_stdin",
            .description =
                "Type into a program that workspace_exec left running, and read its output. Without chars, only read.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{" SESSION_ID ","
                          "\"chars\":{\"type\":\"string\",\"description\":\"typed verbatim\"},"
                          "\"append_newline\":{\"type\":\"boolean\",\"description\":\"then press Enter\"},"
                          "\"submit\":{\"type\":\"boolean\"},"
                          "\"eof\":{\"type\":\"boolean\",\"description\":\"then close its input\"},"
                          "\"yield_time_ms\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"milliseconds to "
                          "wait for output, default 200\"},\"yieldMs\":{\"type\":\"integer\"}},"
                          "\"additionalProperties\":false}",
        },
    .effect = runtime_effect,
    .start = start_write,
    .cancel = cancel,
};

/* ---- workspace_kill ---- */

static int begin_kill(struct exec_call *call, struct err *err)
{
    return exec_kill(call->exec, call->job.run->arguments, on_command_done, call, err);
}

static void start_kill(struct tool_run *run)
{
    struct exec_call *call = new_call(run, begin_kill);
    if (call)
        runtime_job_start(&call->job);
}

const struct tool tool_workspace_kill = {
    .spec =
        {
            .name = "workspace_kill",
            .description = "Kill a program that workspace_exec left running, and all its processes.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{" SESSION_ID "},\"additionalProperties\":false}",
        },
    .effect = runtime_effect,
    .start = start_kill,
    .cancel = cancel,
};
