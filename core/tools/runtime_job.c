/* Runs the blocking part of a workspace tool on a pool thread: opens the workspace, does the call's work, lists the
 * result. */

#include "runtime_job.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "runtime.h"
#include "runtime_internal.h"
#include "workspace/layout.h"
#include "workspace/look.h"

/* Clears obstacles that one command left, so that later commands can still use the workspace. */
static void clear_way(struct runtime_job *job)
{
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    layout_clear(job->ws->root, &told);
    if (told.len)
        runtime_remember_moved(job->runtime, told.buf);
}

static void work(struct loop_work *work)
{
    struct runtime_job *job = CONTAINER_OF(work, struct runtime_job, work);
    if (tool_run_cancelled(job->run)) {
        job->failed = true;
        err_set(&job->err, "canceled before it started");
        return;
    }
    job->ws = runtime_workspace(job->runtime, &job->err);
    job->failed = !job->ws;
    if (job->ws)
        clear_way(job);
    if (job->ws && job->act)
        job->act(job);
    if (job->ws && (job->look || job->first))
        job->seen = runtime_see(job->runtime, job->ws, steal(&job->looked));
    else if (job->looked)
        look_release(job->ws, steal(&job->looked));
}

static void worked(struct loop_work *work)
{
    struct runtime_job *job = CONTAINER_OF(work, struct runtime_job, work);
    struct runtime *runtime = job->runtime;
    job->out = false;
    runtime_emit_ops(runtime);
    runtime_emit_seen(runtime, steal(&job->seen));
    if (!runtime->gone) { /* otherwise the call has ended already */
        if (job->then)
            job->then(job);
        else
            runtime_job_finish(job);
        runtime_watch(runtime);
    }
    runtime_job_back(runtime);
}

void runtime_job_start(struct runtime_job *job)
{
    job->runtime = job->run->env->runtime;
    job->runtime->jobs++;
    job->out = true;
    job->failed = false;
    job->first = !job->runtime->told; /* the workspace is reported before its first program runs */
    loop_work_start(job->runtime->loop, &job->work, work, worked);
}

void runtime_job_finish(struct runtime_job *job)
{
    struct tool_run *run = job->run;
    struct tool_reply reply = job->reply;
    job->reply = (struct tool_reply){0};
    if (job->runtime)
        runtime_emit_ops(job->runtime);
    if (job->failed)
        tool_reply_error(&reply, "%s", job->err.text);
    run->state = NULL;
    if (job->release)
        job->release(job);
    else
        free(job);
    tool_run_finish(run, &reply);
}

void runtime_job_refuse(struct runtime_job *job, const char *fmt, ...)
{
    va_list args;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    job->failed = false;
    tool_reply_error(&job->reply, "%s", text.buf);
    runtime_job_finish(job);
}

bool runtime_job_goes_on(struct runtime_job *job)
{
    if (!job->failed && !tool_run_cancelled(job->run))
        return true;
    if (job->failed)
        runtime_job_finish(job);
    else
        runtime_job_refuse(job, "canceled");
    return false;
}

void runtime_job_answer(struct runtime_job *job, void (*act)(struct runtime_job *job))
{
    job->act = act;
    job->then = NULL;
    job->look = true;
    runtime_job_start(job);
}

void runtime_job_cancelled(struct runtime_job *job)
{
    runtime_look(job->runtime); /* records what it did so far */
    runtime_job_refuse(job, "canceled");
}

void runtime_job_launch(struct runtime_job *job, const char *command)
{
    struct err err = ERR_INIT;
    if (command && command_policy_check(&runtime_said(job->run->env->runtime)->commands, command, &err)) {
        runtime_job_refuse(job, "%s", err.text);
    } else if (tool_run_must_ask(job->run)) {
        /* the user reads this before the question */
        tool_run_say(job->run, "progress", "No sandbox: this command can change your files.\n");
        tool_reply_ask(&job->reply);
        runtime_job_finish(job);
    } else {
        runtime_job_start(job);
    }
}

int64_t runtime_job_time_ms(const struct runtime_job *job, int64_t said_ms)
{
    double left_s = deadline_remaining_s(&job->run->deadline) - DEADLINE_LAST_WORD_S;
    int64_t left_ms = left_s > 0 ? (int64_t)(left_s * 1000) : 0;
    said_ms = runtime_timeout_ms(job->runtime, said_ms);
    return said_ms < left_ms ? said_ms : left_ms;
}

void runtime_warn(struct json_writer *w, struct runtime_job *job)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *moved = runtime_take_moved(job->runtime);
    if (!job->looked)
        job->looked = workspace_look(job->ws);
    bool full = workspace_warn_disk(job->ws, &job->looked->count, &err);
    CLEANUP(free) char *both = xasprintf("%s%s%s", full ? err.text : "", full && moved ? "; " : "", moved ? moved : "");
    if (*both)
        json_add_str(w, "warning", both);
}

bool runtime_missing(struct tool_run *run)
{
    struct tool_reply reply = {.final = true}; /* the condition does not change within a turn */
    if (run->env->runtime)
        return false;
    tool_reply_error(&reply, "this session has no workspace for programs");
    tool_run_finish(run, &reply);
    return true;
}

void runtime_job_run(struct tool_run *run, void (*act)(struct runtime_job *job), bool look)
{
    if (runtime_missing(run))
        return;
    struct runtime_job *job = xcalloc(1, sizeof(*job));
    *job = (struct runtime_job){.run = run, .act = act, .look = look};
    run->state = job;
    runtime_job_start(job);
}

enum effect runtime_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                           const struct json *arguments)
{
    (void)tool;
    (void)call;
    (void)arguments;
    return !runtime_isolates(env->runtime) ? EFFECT_DESTRUCTIVE
           : runtime_network(env->runtime) ? EFFECT_NETWORK
                                           : EFFECT_LOCAL_WRITE;
}
