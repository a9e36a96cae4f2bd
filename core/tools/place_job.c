#include "place_job.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "place.h"
#include "place_inside.h"
#include "workspace/layout.h"

/* One command must not make the workspace useless for all later ones. */
static void clear_way(struct place_job *job)
{
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    layout_clear(job->ws->root, &told);
    if (told.len)
        place_remember_moved(job->place, told.buf);
}

static void work(struct loop_work *work)
{
    struct place_job *job = CONTAINER_OF(work, struct place_job, work);
    if (tool_run_cancelled(job->run)) {
        job->failed = true;
        err_set(&job->err, "cancelled before it began");
        return;
    }
    job->ws = place_workspace(job->place, &job->err);
    job->failed = !job->ws;
    if (job->ws)
        clear_way(job);
    if (job->ws && job->act)
        job->act(job);
    if (job->ws && (job->look || job->first))
        job->seen = place_see(job->place, job->ws);
}

static void worked(struct loop_work *work)
{
    struct place_job *job = CONTAINER_OF(work, struct place_job, work);
    struct place *place = job->place;
    job->out = false;
    place_emit_ops(place);
    if (!place->ended)
        place_emit_seen(place, job->seen);
    place_seen_free(steal(&job->seen));
    if (!place->gone) { /* else nobody waits for the call any more */
        if (job->then)
            job->then(job);
        else
            place_job_finish(job);
        place_watch(place);
    }
    place_job_back(place);
}

void place_job_start(struct place_job *job)
{
    job->place = job->run->env->place;
    job->place->jobs++;
    job->out = true;
    job->failed = false;
    job->first = !job->place->emitted; /* a workspace is told of before its first program runs */
    loop_work_start(job->place->loop, &job->work, work, worked);
}

void place_job_finish(struct place_job *job)
{
    struct tool_run *run = job->run;
    struct tool_reply reply = job->reply;
    job->reply = (struct tool_reply){0};
    if (job->place)
        place_emit_ops(job->place);
    if (job->failed)
        tool_reply_error(&reply, "%s", job->err.text);
    run->state = NULL;
    if (job->release)
        job->release(job);
    else
        free(job);
    tool_run_finish(run, &reply);
}

void place_job_refuse(struct place_job *job, const char *fmt, ...)
{
    va_list args;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    job->failed = false;
    tool_reply_error(&job->reply, "%s", text.buf);
    place_job_finish(job);
}

bool place_job_goes_on(struct place_job *job)
{
    if (!job->failed && !tool_run_cancelled(job->run))
        return true;
    if (job->failed)
        place_job_finish(job);
    else
        place_job_refuse(job, "cancelled");
    return false;
}

void place_job_answer(struct place_job *job, void (*act)(struct place_job *job))
{
    job->act = act;
    job->then = NULL;
    job->look = true;
    place_job_start(job);
}

void place_job_cancelled(struct place_job *job)
{
    place_look(job->place); /* whatever it did until now */
    place_job_refuse(job, "cancelled");
}

void place_job_launch(struct place_job *job, const char *command)
{
    struct err err = ERR_INIT;
    if (command && command_policy_check(&place_said(job->run->env->place)->commands, command, &err)) {
        place_job_refuse(job, "%s", err.text);
    } else if (tool_run_must_ask(job->run)) {
        /* whoever is asked reads what was said before */
        tool_run_say(job->run, "progress", "There is no sandbox around it: it can change your files.\n");
        tool_reply_ask(&job->reply);
        place_job_finish(job);
    } else {
        place_job_start(job);
    }
}

int64_t place_job_time_ms(const struct place_job *job, int64_t said_ms)
{
    double left_s = deadline_remaining_s(&job->run->deadline) - DEADLINE_LAST_WORD_S;
    int64_t left_ms = left_s > 0 ? (int64_t)(left_s * 1000) : 0;
    said_ms = place_timeout_ms(job->place, said_ms);
    return said_ms < left_ms ? said_ms : left_ms;
}

void place_warn(struct json_writer *w, const struct place_job *job)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *moved = place_take_moved(job->place);
    bool full = workspace_warn_disk(job->ws, &err);
    CLEANUP(free) char *both = xasprintf("%s%s%s", full ? err.text : "", full && moved ? "; " : "", moved ? moved : "");
    if (*both)
        json_add_str(w, "warning", both);
}

bool place_missing(struct tool_run *run)
{
    struct tool_reply reply = {.final = true}; /* that does not change within a turn */
    if (run->env->place)
        return false;
    tool_reply_error(&reply, "this session has no workspace for programs");
    tool_run_finish(run, &reply);
    return true;
}

void place_job_run(struct tool_run *run, void (*act)(struct place_job *job), bool look)
{
    if (place_missing(run))
        return;
    struct place_job *job = xcalloc(1, sizeof(*job));
    *job = (struct place_job){.run = run, .act = act, .look = look};
    run->state = job;
    place_job_start(job);
}

enum effect place_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                         const struct json *arguments)
{
    (void)tool;
    (void)call;
    (void)arguments;
    return !place_isolates(env->place) ? EFFECT_DESTRUCTIVE
           : place_network(env->place) ? EFFECT_NETWORK
                                       : EFFECT_LOCAL_WRITE;
}
