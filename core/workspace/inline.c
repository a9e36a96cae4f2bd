/* One block at a time; the removal of the workspace is work for a thread. */

#include "inline.h"
#include "base/arena.h"
#include "base/loop.h"
#include "base/mem.h"
#include "programs_inside.h"
#include "stage.h"
#include "workspace.h"
#include <string.h>

struct inline_work {
    struct programs *programs;
    struct loop *loop;
    struct inline_work *next; /* of those under way */
    struct workspace *ws;
    struct arena arena;
    struct code_block *blocks;
    size_t at;
    struct inline_result result;
    struct span span;
    struct loop_work cleaning;
    struct loop_task going;
    int64_t began_us, timeout_ms;
    bool combined, cleans, dropped;
    void (*done)(void *user, struct inline_result *take_result);
    void *user;
};

static void go_on(struct loop_task *task);

/* ---- the end ---- */

static void clean(struct loop_work *work)
{
    struct inline_work *inl = CONTAINER_OF(work, struct inline_work, cleaning);
    struct err err = ERR_INIT;
    if (workspace_cleanup(inl->ws, &err))
        return; /* its record tells why */
}

static void on_clean(struct loop_work *work)
{
    static const struct err dropped = {.text = "it was ended before its time"};
    struct inline_work *inl = CONTAINER_OF(work, struct inline_work, cleaning);
    inl->result.duration_ms = (loop_now_us(inl->loop) - inl->began_us) / 1000;
    json_add_int(&inl->span.attrs, SPAN_COUNT, (int64_t)inl->result.count);
    span_end(&inl->span, inl->dropped ? -1 : 0, &dropped, NULL);
    workspace_free(inl->ws);
    arena_release(&inl->arena);
    if (inl->dropped) {
        inline_result_release(&inl->result);
    } else {
        struct inline_work **at = &inl->programs->inlines;
        while (*at != inl)
            at = &(*at)->next;
        *at = inl->next;
        inl->done(inl->user, &inl->result);
    }
    free(inl);
}

static void start_cleaning(struct inline_work *inl)
{
    inl->cleans = true;
    loop_work_start(inl->loop, &inl->cleaning, clean, on_clean);
}

/* The programs go, and with them the block that runs. */
void inline_drop_all(struct programs *programs)
{
    for (struct inline_work *inl = programs->inlines, *next; inl; inl = next) {
        next = inl->next;
        inl->dropped = true;
        loop_unpost(inl->loop, &inl->going);
        if (!inl->cleans)
            start_cleaning(inl);
        loop_work_disown(inl->loop, &inl->cleaning);
    }
    programs->inlines = NULL;
}

/* ---- blocks ---- */

static void next_block(struct inline_work *inl)
{
    inl->at++;
    loop_post(inl->loop, &inl->going, go_on);
}

static void fail_block(struct inline_work *inl, const char *why)
{
    inl->result.codes[inl->at] = -1;
    if (inl->combined)
        strbuf_addf(&inl->result.out, "Error executing code block %zu: %s\n", inl->at, why);
    else
        strbuf_addf(&inl->result.err, "%s\n", why);
    next_block(inl);
}

/* A block that went well is its output; one that did not is a line that says so, and the output in it. */
static void add_combined(struct inline_work *inl, const struct program_result *result)
{
    struct strbuf *out = &inl->result.out;
    const struct program_end *end = &result->end;
    bool well = end->exit_code == 0;
    if (!well && end->why)
        strbuf_addf(out, "Error executing code block %zu: %s: ", inl->at, end->why);
    else if (!well && end->timed_out)
        strbuf_addf(out, "Error executing code block %zu: timed out after %lld ms: ", inl->at,
                    (long long)inl->timeout_ms);
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
    inl->result.codes[inl->at] = take_result->end.exit_code;
    inl->result.timed_out = inl->result.timed_out || take_result->end.timed_out;
    if (inl->combined) {
        add_combined(inl, take_result);
    } else {
        strbuf_add(&inl->result.out, take_result->out.buf, take_result->out.len);
        strbuf_add(&inl->result.err, take_result->err.buf, take_result->err.len);
        if (take_result->why)
            strbuf_addf(&inl->result.err, "%s\n", take_result->why);
    }
    program_result_release(take_result);
    next_block(inl);
}

static int start_block(struct inline_work *inl, struct err *err)
{
    const struct code_block *block = &inl->blocks[inl->at];
    struct code_file file;
    if (code_block_file(&file, inl->at, block->language, err))
        return -1;
    CLEANUP(free) char *path = xasprintf("%s/%s", CODE_FOLDER, file.name);
    struct stage_file put = {.path = path, .bytes = block->code, .len = block->len, .mode = file.mode};
    if (stage_files(inl->ws, &put, 1, err))
        return -1;
    struct program_spec spec = {.cmd = file.program,
                                .args = (const char *const[]){file.name, NULL},
                                .cwd = CODE_FOLDER,
                                .timeout_ms = inl->timeout_ms};
    return program_run(inl->programs, inl->ws, &spec, on_block, inl, err) ? 0 : -1;
}

static void go_on(struct loop_task *task)
{
    struct inline_work *inl = CONTAINER_OF(task, struct inline_work, going);
    struct err err = ERR_INIT;
    if (inl->at == inl->result.count)
        start_cleaning(inl);
    else if (start_block(inl, &err))
        fail_block(inl, err.text);
}

/* ---- the beginning ---- */

int inline_run(const struct inline_options *options, const struct code_block *blocks, size_t count,
               void (*done)(void *user, struct inline_result *take_result), void *user, struct err *err)
{
    struct workspace *ws =
        workspace_create(options->workspace, options->exec_id ? options->exec_id : "inline", options->policy, err);
    if (!ws)
        return -1;
    struct inline_work *inl = xcalloc(1, sizeof(*inl));
    int64_t otherwise = options->combined ? INLINE_COMBINED_MS : INLINE_TIMEOUT_MS;
    *inl = (struct inline_work){.programs = options->programs,
                                .loop = programs_loop(options->programs),
                                .next = options->programs->inlines,
                                .ws = ws,
                                .timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : otherwise,
                                .combined = options->combined,
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
    inl->result.codes = xcalloc(count + 1, sizeof(int));
    inl->result.count = count;
    span_begin(&inl->span, &ws->observer, ws->clock, SPAN_INLINE);
    loop_post(inl->loop, &inl->going, go_on);
    return 0;
}

void inline_result_release(struct inline_result *result)
{
    strbuf_release(&result->out);
    strbuf_release(&result->err);
    free(result->codes);
}
