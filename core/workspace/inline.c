/* Runs the code blocks of a text, one at a time (inline.h). A thread removes a workspace created for them. */

#include "inline.h"
#include "base/arena.h"
#include "base/loop.h"
#include "base/mem.h"
#include "programs_internal.h"
#include "stage.h"
#include "workspace.h"
#include <string.h>

struct inline_work {
    struct inline_options options;
    struct loop *loop;
    struct inline_work *next; /* list of runs in progress */
    struct workspace *ws;
    struct arena arena;
    struct code_block *blocks;
    size_t at;
    struct program *program; /* of the running block */
    struct inline_result result;
    struct span span;
    struct loop_work cleaning;
    struct loop_task going;
    int64_t began_us, block_ms;
    bool cleans, dropped;
    void (*done)(void *user, struct inline_result *take_result);
    void *user;
};

static void continue_inline(struct loop_task *task);

/* ---- the end ---- */

static void inline_leave(struct inline_work *inl)
{
    struct inline_work **at = &inl->options.programs->inlines;
    while (*at != inl)
        at = &(*at)->next;
    *at = inl->next;
}

static void conclude(struct inline_work *inl)
{
    static const struct err dropped = {.text = "it was stopped"};
    inl->result.duration_ms = (loop_now_us(inl->loop) - inl->began_us) / 1000;
    json_add_int(&inl->span.attrs, SPAN_COUNT, (int64_t)inl->result.count);
    span_end(&inl->span, inl->dropped ? -1 : 0, &dropped, NULL);
    if (!inl->options.ws)
        workspace_free(inl->ws);
    arena_release(&inl->arena);
    if (inl->dropped) {
        inline_result_release(&inl->result);
    } else {
        inline_leave(inl);
        inl->done(inl->user, &inl->result);
    }
    free(inl);
}

static void clean(struct loop_work *work)
{
    struct inline_work *inl = CONTAINER_OF(work, struct inline_work, cleaning);
    struct err err = ERR_INIT;
    if (workspace_cleanup(inl->ws, &err))
        return; /* its record has the reason */
}

static void on_clean(struct loop_work *work)
{
    conclude(CONTAINER_OF(work, struct inline_work, cleaning));
}

static void start_cleaning(struct inline_work *inl)
{
    inl->cleans = true;
    loop_work_start(inl->loop, &inl->cleaning, clean, on_clean);
}

static void end_blocks(struct inline_work *inl)
{
    if (inl->options.ws)
        conclude(inl);
    else
        start_cleaning(inl);
}

/* Frees a run that has left the list and whose program has ended. */
static void drop(struct inline_work *inl)
{
    inl->dropped = true;
    loop_unpost(inl->loop, &inl->going);
    if (inl->options.ws) {
        conclude(inl);
        return;
    }
    if (!inl->cleans)
        start_cleaning(inl);
    loop_work_disown(inl->loop, &inl->cleaning);
}

void inline_drop_all(struct programs *programs)
{
    for (struct inline_work *inl = programs->inlines, *next; inl; inl = next) {
        next = inl->next;
        drop(inl);
    }
    programs->inlines = NULL;
}

void inline_cancel(struct inline_work *inl)
{
    if (!inl)
        return;
    inline_leave(inl);
    program_free(inl->program);
    drop(inl);
}

/* ---- blocks ---- */

static void next_block(struct inline_work *inl)
{
    inl->at++;
    loop_post(inl->loop, &inl->going, continue_inline);
}

static void fail_block(struct inline_work *inl, const char *why)
{
    inl->result.ends[inl->at] = (struct inline_end){.exit_code = -1, .why = xstrdup(why)};
    if (inl->options.combined)
        strbuf_addf(&inl->result.out, "Error executing code block %zu: %s\n", inl->at, why);
    else
        strbuf_addf(&inl->result.err, "%s\n", why);
    next_block(inl);
}

/* Adds the output of a block that succeeded; for a failed block a line that reports it, with the output in it. */
static void add_combined(struct inline_work *inl, const struct program_result *result)
{
    struct strbuf *out = &inl->result.out;
    const struct process_end *end = &result->end;
    bool well = end->exit_code == 0;
    if (!well && end->why)
        strbuf_addf(out, "Error executing code block %zu: %s: ", inl->at, end->why);
    else if (!well && end->timed_out)
        strbuf_addf(out, "Error executing code block %zu: timed out after %lld ms: ", inl->at,
                    (long long)inl->block_ms);
    else if (!well && end->signum)
        strbuf_addf(out, "Error executing code block %zu: signal %d: ", inl->at, end->signum);
    else if (!well)
        strbuf_addf(out, "Error executing code block %zu: exit status %d: ", inl->at, end->exit_code);
    strbuf_add(out, result->out.buf, result->out.len);
    strbuf_add(out, result->err.buf, result->err.len);
    if (!well && out->buf[out->len - 1] != '\n')
        strbuf_addch(out, '\n');
}

static void on_block(void *user, struct program_result *take_result)
{
    struct inline_work *inl = user;
    struct program_result *result = take_result;
    inl->program = NULL;
    if (inl->options.combined) {
        add_combined(inl, result);
    } else if (!inl->options.prints.watch) {
        strbuf_add(&inl->result.out, result->out.buf, result->out.len);
        strbuf_add(&inl->result.err, result->err.buf, result->err.len);
        if (result->why)
            strbuf_addf(&inl->result.err, "%s\n", result->why);
    }
    inl->result.timed_out = inl->result.timed_out || result->end.timed_out;
    inl->result.ends[inl->at] = (struct inline_end){.exit_code = result->end.exit_code,
                                                    .signum = result->end.signum,
                                                    .timed_out = result->end.timed_out,
                                                    .engine_failed = result->end.engine_failed,
                                                    .left_count = result->end.left_count,
                                                    .why = steal(&result->why)};
    memcpy(inl->result.ends[inl->at].left, result->left, sizeof(result->left));
    program_result_release(result);
    next_block(inl);
}

int inline_put(struct workspace *ws, size_t index, const struct code_block *block, struct err *err)
{
    struct code_file file;
    if (code_block_file(&file, index, block->language, NULL))
        return 0;
    CLEANUP(free) char *path = xasprintf("%s/%s", CODE_FOLDER, file.name);
    struct stage_file put = {.path = path, .bytes = block->code, .len = block->len, .mode = file.mode};
    return stage_files(ws, &put, 1, err);
}

static int start_block(struct inline_work *inl, struct err *err)
{
    const struct inline_options *options = &inl->options;
    const struct code_block *block = &inl->blocks[inl->at];
    struct code_file file;
    if (code_block_file(&file, inl->at, block->language, err) ||
        (!options->ws && inline_put(inl->ws, inl->at, block, err)))
        return -1;
    if (options->time_ms)
        inl->block_ms = options->time_ms(inl->user);
    if (inl->block_ms <= 0)
        return err_set(err, "no time left");
    struct program_spec spec = {.cmd = file.program,
                                .args = (const char *const[]){file.name, NULL},
                                .cwd = CODE_FOLDER,
                                .clean_env = options->clean_env,
                                .call = options->call,
                                .timeout_ms = inl->block_ms,
                                .prints = options->prints};
    inl->program = program_run(options->programs, inl->ws, &spec, on_block, inl, err);
    return inl->program ? 0 : -1;
}

static void continue_inline(struct loop_task *task)
{
    struct inline_work *inl = CONTAINER_OF(task, struct inline_work, going);
    struct err err = ERR_INIT;
    if (inl->at == inl->result.count)
        end_blocks(inl);
    else if (start_block(inl, &err))
        fail_block(inl, err.text);
}

/* ---- start ---- */

struct inline_work *inline_run(const struct inline_options *options, const struct code_block *blocks, size_t count,
                               void (*done)(void *user, struct inline_result *take_result), void *user, struct err *err)
{
    struct workspace *ws = options->ws;
    if (!ws)
        ws = workspace_create(options->workspace, options->exec_id ? options->exec_id : "inline", options->policy, err);
    if (!ws)
        return NULL;
    struct inline_work *inl = xcalloc(1, sizeof(*inl));
    int64_t otherwise = options->combined ? INLINE_COMBINED_MS : INLINE_TIMEOUT_MS;
    *inl = (struct inline_work){.options = *options,
                                .loop = programs_loop(options->programs),
                                .next = options->programs->inlines,
                                .ws = ws,
                                .block_ms = options->timeout_ms > 0 ? options->timeout_ms : otherwise,
                                .done = done,
                                .user = user};
    options->programs->inlines = inl;
    inl->began_us = loop_now_us(inl->loop);
    inl->blocks = arena_calloc(&inl->arena, count + 1, sizeof(*blocks));
    for (size_t i = 0; i < count; i++)
        inl->blocks[i] = (struct code_block){.language = arena_strdup(&inl->arena, blocks[i].language),
                                             .code = arena_memdup0(&inl->arena, blocks[i].code, blocks[i].len),
                                             .len = blocks[i].len};
    strbuf_init(&inl->result.out);
    strbuf_init(&inl->result.err);
    inl->result.ends = xcalloc(count + 1, sizeof(*inl->result.ends));
    inl->result.count = count;
    span_begin(&inl->span, ws->ops, ws->clock, SPAN_INLINE);
    loop_post(inl->loop, &inl->going, continue_inline);
    return inl;
}

void inline_result_release(struct inline_result *result)
{
    strbuf_release(&result->out);
    strbuf_release(&result->err);
    for (size_t i = 0; i < result->count; i++)
        free(result->ends[i].why);
    free(result->ends);
}
