/* run_code: the fenced blocks of a text, or one piece of code, in the session's workspace, one after the other.
 *
 *   start ──► open the workspace, write the blocks into src/ ──► run block after block ──► finished
 *                                                                   │ canceled: the block is killed
 *
 * A failing block does not stop the others; the answer has the exit code of each. All blocks share the call's time. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "output_limit.h"
#include "runtime.h"
#include "runtime_job.h"
#include "spool.h"
#include "workspace/inline.h"
#include <string.h>

#define BLOCK_TIMEOUT_S 60 /* if the call gives none */

struct code_call {
    struct runtime_job job;
    struct arena arena;
    struct code_block *blocks;
    size_t count;
    struct inline_work *running;
    struct inline_result result;
    bool ran;
    struct call_prints printed;
};

static void release(struct runtime_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    if (call->ran)
        inline_result_release(&call->result);
    call_prints_release(&call->printed);
    arena_release(&call->arena);
    free(call);
}

/* ---- the end ---- */

static void write_result(struct runtime_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    spool_write(&call->printed.kept[0], &w, "output", "", LONG_TEXT_ROOM);
    json_open(&w, "blocks", '[');
    bool told = false;
    for (size_t i = 0; i < call->count; i++) {
        const struct inline_end *end = &call->result.ends[i];
        told |= end->why != NULL;
        json_open(&w, NULL, '{');
        json_add_str(&w, "language", call->blocks[i].language);
        json_add_int(&w, "exit_code", end->exit_code);
        program_answer_end(&w, end->timed_out ? 0 : end->signum, end->left, end->left_count);
        if (end->timed_out)
            json_add_bool(&w, "timed_out", true);
        if (end->why)
            json_add_str(&w, "error", end->why);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    if (!told)
        runtime_warn(&w, job);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void on_block_done(void *user, struct inline_result *take_result)
{
    struct code_call *call = user;
    call->running = NULL;
    call->result = *take_result;
    call->ran = true;
    call_prints_end(&call->printed);
    for (size_t i = 0; i < call->count; i++)
        if (call->result.ends[i].engine_failed) { /* nothing in this result came from the code */
            runtime_job_refuse(&call->job, "%s", call->result.ends[i].why);
            return;
        }
    runtime_job_answer(&call->job, write_result);
}

/* ---- the beginning ---- */

static int64_t block_time_ms(void *user)
{
    const struct code_call *call = user;
    int64_t said_s = json_int(json_get(call->job.run->arguments, "timeout_sec"), BLOCK_TIMEOUT_S);
    return runtime_job_time_ms(&call->job, said_s * 1000);
}

static void put_blocks(struct runtime_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    for (size_t i = 0; i < call->count && !job->failed; i++)
        job->failed = inline_put(job->ws, i, &call->blocks[i], &job->err) < 0;
}

static void begin_block(struct runtime_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    struct err err = ERR_INIT;
    if (!runtime_job_goes_on(job))
        return;
    struct inline_options options = {.programs = runtime_programs(job->runtime, &err),
                                     .ws = job->ws,
                                     .time_ms = block_time_ms,
                                     .clean_env = command_policy_active(&runtime_said(job->runtime)->commands),
                                     .call = job->run->call,
                                     .prints = call_prints_for(&call->printed)};
    call->running =
        options.programs ? inline_run(&options, call->blocks, call->count, on_block_done, call, &err) : NULL;
    if (!call->running)
        runtime_job_refuse(job, "%s", err.text);
}

static void find_blocks(struct code_call *call)
{
    const struct json *text = json_get(call->job.run->arguments, "text");
    const struct json *code = json_get(call->job.run->arguments, "code");
    if (text)
        call->count = code_blocks_find(&call->arena, text->text, text->len, CODE_FENCE, CODE_FENCE, &call->blocks);
    if (!text && code) {
        call->blocks = arena_calloc(&call->arena, 1, sizeof(*call->blocks));
        call->blocks[0] =
            (struct code_block){.language = json_str(json_get(call->job.run->arguments, "language"), "python"),
                                .code = code->text,
                                .len = code->len};
        call->count = 1;
    }
}

/* Code can run any command. So if commands are checked, its interpreter must be one that may run anything. */
static int check_interpreters(const struct code_call *call, struct err *err)
{
    const struct command_policy *policy = &runtime_said(call->job.run->env->runtime)->commands;
    for (size_t i = 0; i < call->count; i++) {
        struct code_file file;
        if (code_block_file(&file, i, call->blocks[i].language, NULL) == 0 &&
            command_policy_check(policy, file.program, err))
            return -1;
    }
    return 0;
}

static void start_code(struct tool_run *run)
{
    if (runtime_missing(run))
        return;
    struct err err = ERR_INIT;
    struct code_call *call = xcalloc(1, sizeof(*call));
    call->job = (struct runtime_job){.run = run, .act = put_blocks, .then = begin_block, .release = release};
    call_prints_init(&call->printed, run, false);
    find_blocks(call);
    run->state = call;
    if (!call->count)
        runtime_job_refuse(&call->job, "no code: set `code`, or `text` with blocks between " CODE_FENCE);
    else if (check_interpreters(call, &err))
        runtime_job_refuse(&call->job, "%s; use workspace_exec for allowed commands", err.text);
    else
        runtime_job_launch(&call->job, NULL);
}

static void cancel_code(struct tool_run *run)
{
    struct code_call *call = run->state;
    if (!call || call->job.out || !call->running)
        return; /* the job runs on a thread and returns on its own */
    inline_cancel(call->running);
    runtime_job_cancelled(&call->job);
}

const struct tool tool_run_code = {
    .spec =
        {
            .name = "run_code",
            .description =
                "Run code in the session's workspace, in a sandbox: `code` with its `language`, or every fenced block "
                "of `text`, one after the other (python or bash). Each runs in src/ of the workspace; $OUTPUT_DIR is "
                "for results.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{"
                          "\"code\":{\"type\":\"string\",\"minLength\":1},"
                          "\"language\":{\"type\":\"string\",\"description\":\"python, the default, or bash\"},"
                          "\"text\":{\"type\":\"string\",\"minLength\":1,\"description\":\"with blocks between ```\"},"
                          "\"timeout_sec\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3600,"
                          "\"description\":\"of each block, default 60\"}},"
                          "\"additionalProperties\":false}",
            .timeout_s = RUNTIME_LONGEST_S,
        },
    .effect = runtime_effect,
    .start = start_code,
    .cancel = cancel_code,
};
