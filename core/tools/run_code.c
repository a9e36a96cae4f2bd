/* run_code: the fenced blocks of a text, or one piece of code, in the session's workspace, one after the other.
 *
 *   start ──► the workspace is had, the blocks are put into src/ ──► block after block runs ──► finished
 *                                                                       │ cancelled: the block is killed
 *
 * What is wrong with one block stops none of the others; each has its exit code in the answer. All of them together
 * have the call's time. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "long_text.h"
#include "place.h"
#include "place_job.h"
#include "spool.h"
#include "tool_streams.h"
#include "workspace/codeblock.h"
#include "workspace/stage.h"
#include <string.h>

#define BLOCK_TIMEOUT_S 60 /* when none is said */

struct block_end {
    int exit_code;
    bool timed_out;
    char *error; /* it could not be run */
};

struct code_call {
    struct place_job job;
    struct arena arena;
    struct code_block *blocks;
    struct block_end *ends;
    size_t count, at;
    struct program *program;
    struct spool printed;
    struct tool_streams streams;
};

static void release(struct place_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    for (size_t i = 0; i < call->count; i++)
        free(call->ends[i].error);
    free(call->ends);
    tool_streams_release(&call->streams);
    spool_release(&call->printed);
    arena_release(&call->arena);
    free(call);
}

/* ---- the end ---- */

static void write_result(struct place_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    spool_write(&call->printed, &w, "output", "", LONG_TEXT_ROOM);
    json_open(&w, "blocks", '[');
    bool told = false;
    for (size_t i = 0; i < call->count; i++) {
        const struct block_end *end = &call->ends[i];
        told |= end->error != NULL;
        json_open(&w, NULL, '{');
        json_add_str(&w, "language", call->blocks[i].language);
        json_add_int(&w, "exit_code", end->exit_code);
        if (end->timed_out)
            json_add_bool(&w, "timed_out", true);
        if (end->error)
            json_add_str(&w, "error", end->error);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    if (!told)
        place_warn_disk(&w, job);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void conclude(struct code_call *call)
{
    tool_streams_end(&call->streams);
    call->job.act = write_result;
    call->job.then = NULL;
    call->job.look = true;
    place_job_start(&call->job);
}

/* ---- blocks ---- */

static void next_block(struct code_call *call);

static void on_printed(void *user, enum program_stream stream, const char *bytes, size_t len)
{
    struct code_call *call = user;
    spool_add(&call->printed, bytes, len);
    tool_streams_add(&call->streams, stream, bytes, len);
}

static void on_block(void *user, struct program_result *take_result)
{
    struct code_call *call = user;
    const struct program_end *end = &take_result->end;
    call->program = NULL;
    call->ends[call->at] = (struct block_end){.exit_code = end->exit_code,
                                              .timed_out = end->timed_out,
                                              .error = take_result->why ? xstrdup(take_result->why) : NULL};
    bool failed = end->no_engine;
    program_result_release(take_result);
    if (failed) {
        place_job_refuse(&call->job, "%s", call->ends[call->at].error);
        return;
    }
    call->at++;
    next_block(call);
}

static int start_block(struct code_call *call, struct err *err)
{
    struct code_file file;
    int64_t said_s = json_int(json_get(call->job.run->arguments, "timeout_sec"), BLOCK_TIMEOUT_S);
    int64_t left_ms = place_job_time_ms(&call->job, said_s * 1000);
    struct programs *programs = place_programs(call->job.place, err);
    if (!programs || code_block_file(&file, call->at, call->blocks[call->at].language, err))
        return -1;
    if (left_ms <= 0)
        return err_set(err, "there was no time left for it");
    struct program_spec spec = {.cmd = file.program,
                                .args = (const char *const[]){file.name, NULL},
                                .cwd = CODE_FOLDER,
                                .clean_env = command_policy_active(&place_said(call->job.place)->commands),
                                .timeout_ms = left_ms,
                                .watch = on_printed,
                                .watch_user = call};
    call->program = program_run(programs, call->job.ws, &spec, on_block, call, err);
    return call->program ? 0 : -1;
}

static void next_block(struct code_call *call)
{
    for (; call->at < call->count; call->at++) {
        struct err err = ERR_INIT;
        if (start_block(call, &err) == 0)
            return;
        call->ends[call->at] = (struct block_end){.exit_code = -1, .error = xstrdup(err.text)};
    }
    conclude(call);
}

/* ---- the beginning ---- */

static void put_blocks(struct place_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    for (size_t i = 0; i < call->count && !job->failed; i++) {
        struct code_file file;
        struct err err = ERR_INIT;
        if (code_block_file(&file, i, call->blocks[i].language, &err))
            continue; /* it is told when its turn comes */
        CLEANUP(free) char *path = xasprintf("%s/%s", CODE_FOLDER, file.name);
        struct stage_file put = {
            .path = path, .bytes = call->blocks[i].code, .len = call->blocks[i].len, .mode = file.mode};
        job->failed = stage_files(job->ws, &put, 1, &job->err) < 0;
    }
}

static void begin(struct place_job *job)
{
    struct code_call *call = CONTAINER_OF(job, struct code_call, job);
    struct err err = ERR_INIT;
    if (job->failed)
        place_job_finish(job);
    else if (tool_run_cancelled(job->run))
        place_job_refuse(job, "cancelled");
    else if (!place_programs(job->place, &err))
        place_job_refuse(job, "%s", err.text);
    else
        next_block(call);
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
    call->ends = xcalloc(call->count + 1, sizeof(*call->ends));
}

/* Code runs whatever it likes, so where commands are checked its interpreter must be one that may run anything. */
static int check_interpreters(const struct code_call *call, struct err *err)
{
    const struct command_policy *policy = &place_said(call->job.run->env->place)->commands;
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
    if (place_missing(run))
        return;
    struct err err = ERR_INIT;
    struct code_call *call = xcalloc(1, sizeof(*call));
    call->job = (struct place_job){.run = run, .act = put_blocks, .then = begin, .release = release};
    spool_init(&call->printed, run);
    tool_streams_init(&call->streams, run);
    find_blocks(call);
    run->state = call;
    if (!call->count)
        place_job_refuse(&call->job,
                         "there is no code in it: give `code`, or a `text` with blocks between " CODE_FENCE);
    else if (check_interpreters(call, &err))
        place_job_refuse(&call->job, "%s; workspace_exec runs commands that are allowed", err.text);
    else
        place_job_launch(&call->job, NULL);
}

static void cancel_code(struct tool_run *run)
{
    struct code_call *call = run->state;
    if (!call || call->job.out || !call->program)
        return; /* a thread has it: it comes back by itself */
    program_free(call->program);
    place_look(call->job.place);
    place_job_refuse(&call->job, "cancelled");
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
                          "\"description\":\"of each block, 60 if not given\"}},"
                          "\"additionalProperties\":false}",
            .timeout_s = PLACE_LONGEST_S,
        },
    .effect = place_effect,
    .start = start_code,
    .cancel = cancel_code,
};
