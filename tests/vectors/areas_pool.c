/* Runs the area pool with real sandboxes: the harness built beside this program, in bubblewrap if it is installed. The
 * real one cannot be made to break down; a stand-in that only speaks the protocol does it.
 *
 * A case acts in this order: `checkouts` at once, of which some are given back; `writes` of a script, and the findings
 * of the next one; `uses`, one after the other; runs with these `outcomes`. The pool is compared after all that;
 * checkouts before any of them is given back. */

#include "areas.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/pool.h"
#include "sandbox/script.h"
#include "vector.h"
#include <stdio.h>
#include <string.h>

#define CALLERS_MAX 64
#define PATIENCE_S  60

struct caller {
    struct box *box;
    char name[64];
    struct rig *rig;
};

struct rig {
    struct vector *v;
    struct loop *loop;
    struct sandbox_engines engines;
    struct sandbox_engine recorded;
    struct pool *pool;
    char *folder;
    struct caller callers[CALLERS_MAX];
    struct script_result result;
    struct loop_timer patience;
    bool (*awaited)(struct rig *rig);
    bool done;
    bool stirred;          /* a request to the pool that it has not processed yet */
    int64_t reused, boxes; /* how often the previous sandbox was handed out again; other sandboxes before, counted */
    char last[64];
};

/* ---- waiting ---- */

static void look(struct rig *rig)
{
    if (rig->awaited && rig->awaited(rig))
        loop_stop(rig->loop);
}

/* The pool reports a change after it has processed it. */
static void on_changed(void *user)
{
    struct rig *rig = user;
    rig->stirred = false;
    look(rig);
}

static void out_of_patience(struct loop_timer *timer)
{
    struct rig *rig = CONTAINER_OF(timer, struct rig, patience);
    struct pool_status status = pool_status(rig->pool);
    vector_fail(rig->v, "expected an answer within %d s got %zu starting, %zu idle, %zu busy: %s", PATIENCE_S,
                status.starting, status.idle, status.busy, status.trouble ? status.trouble : "no trouble");
    loop_stop(rig->loop);
}

static void await(struct rig *rig, bool (*awaited)(struct rig *rig))
{
    rig->awaited = awaited;
    if (awaited(rig))
        return;
    loop_timer_start(rig->loop, &rig->patience, loop_now_us(rig->loop) + PATIENCE_S * INT64_C(1000000),
                     out_of_patience);
    loop_run(rig->loop);
    loop_timer_stop(rig->loop, &rig->patience);
    rig->awaited = NULL;
}

/* Nothing is under way, and every caller that can be served has a sandbox. */
static bool is_settled(struct rig *rig)
{
    struct pool_status status = pool_status(rig->pool);
    return !rig->stirred && status.starting == 0 && (status.waiting == 0 || status.idle == 0);
}

static bool is_done(struct rig *rig)
{
    return rig->done;
}

/* ---- the pool ---- */

static void open_pool(struct rig *rig, const struct sandbox_engine *engine)
{
    struct vector *v = rig->v;
    struct err err = ERR_INIT;
    struct box_options spec = {.engine = engine};
    struct pool_options options = {.loop = rig->loop,
                                   .spec = &spec,
                                   .size = (size_t)in_int(v, "pool_size", 1),
                                   .overflow = (size_t)in_int(v, "max_overflow", 0),
                                   .folder = rig->folder,
                                   .changed = on_changed,
                                   .user = rig};
    rig->stirred = true;
    rig->pool = pool_new(&options, &err);
    if (!rig->pool)
        BUG("%s", err.text);
    await(rig, is_settled);
}

static void on_box(void *user, struct box *box, const char *why)
{
    struct caller *caller = user;
    if (!box)
        vector_fail(caller->rig->v, "expected a box got none: %s", why);
    else
        snprintf(caller->name, sizeof(caller->name), "%s", box_name(box));
    caller->box = box;
    look(caller->rig);
}

static struct caller *take(struct rig *rig, size_t at)
{
    struct caller *caller = &rig->callers[at];
    *caller = (struct caller){.rig = rig};
    rig->stirred = true;
    pool_take(rig->pool, on_box, caller);
    return caller;
}

static void give(struct rig *rig, struct caller *caller, bool reusable)
{
    rig->stirred = true;
    pool_give(rig->pool, caller->box, reusable);
    caller->box = NULL;
    await(rig, is_settled);
}

/* Takes the next sandbox, alone; notes whether it is the previous one. */
static struct caller *take_next(struct rig *rig)
{
    struct caller *caller = take(rig, 0);
    await(rig, is_settled);
    bool again = strcmp(caller->name, rig->last) == 0;
    rig->reused += again;
    rig->boxes += !again;
    snprintf(rig->last, sizeof(rig->last), "%s", caller->name);
    return caller;
}

static void on_done(void *user, struct script_result *take_result)
{
    struct rig *rig = user;
    script_result_release(&rig->result);
    rig->result = *take_result;
    *take_result = (struct script_result){0};
    rig->done = true;
    look(rig);
}

/* Runs a script in the caller's sandbox and gives the sandbox back, as the product's tool does. */
static void use(struct rig *rig, struct caller *caller, const char *script, double timeout_s, size_t limit)
{
    if (!caller->box)
        return;
    struct script_request request = {.script = script, .timeout_s = timeout_s, .max_output_bytes = limit};
    struct script_listener listener = {.done = on_done, .user = rig};
    rig->done = false;
    script_run_start(rig->loop, box_channel(caller->box), &request, &listener);
    await(rig, is_done);
    give(rig, caller, script_result_keeps_box(&rig->result));
}

/* ---- expectations ---- */

/* Compares a count, or with true and false whether it is above zero. */
static void got_count(struct vector *v, const char *name, int64_t count)
{
    const struct json *want = wants(v, name);
    if (want && (want->type == JSON_TRUE || want->type == JSON_FALSE))
        got_bool(v, name, count > 0);
    else
        got_int(v, name, count);
}

static const char *status_text(struct rig *rig)
{
    struct pool_status status = pool_status(rig->pool);
    return arena_printf(&rig->v->arena, "{\"running\":%zu,\"busy\":%zu,\"waiting\":%zu,\"idle\":%zu,\"total\":%zu}",
                        status.busy, status.busy, status.waiting, status.idle, status.busy + status.idle);
}

static void got_status(struct rig *rig)
{
    static const char *const names[] = {"running", "busy", "waiting", "idle", "total"};
    const struct json *status = vector_parse(rig->v, status_text(rig));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        got_count(rig->v, names[i], json_int(json_get(status, names[i]), -1));
}

/* Gives back a sandbox that is in use; false if none is. */
static bool give_one(struct rig *rig)
{
    for (size_t i = 0; i < CALLERS_MAX; i++)
        if (rig->callers[i].box) {
            give(rig, &rig->callers[i], true);
            return true;
        }
    return false;
}

static void check_out(struct rig *rig, int64_t checkouts)
{
    static const char *const after[] = {"after_one_return", "after_two_returns", "after_three_returns"};
    if (checkouts < 0 || checkouts > CALLERS_MAX) {
        vector_fail(rig->v, "expected at most %d checkouts got %lld", CALLERS_MAX, (long long)checkouts);
        return;
    }
    for (size_t i = 0; i < (size_t)checkouts; i++)
        take(rig, i);
    await(rig, is_settled);
    got_status(rig);
    for (size_t i = 0; i < COUNT_OF(after) && give_one(rig); i++)
        got_part(rig->v, after[i], status_text(rig));
    while (give_one(rig))
        ;
    got_part(rig->v, "after_all_returns", status_text(rig));
}

/* Paths are those inside the sandbox; without a sandbox the harness has its workspace elsewhere. */
static const char *in_workspace(const char *path)
{
    static const char prefix[] = "/workspace/";
    return strncmp(path, prefix, sizeof(prefix) - 1) == 0 ? path + sizeof(prefix) - 1 : path;
}

static void write_files(struct rig *rig, const struct json *files)
{
    CLEANUP(strbuf) struct strbuf script = STRBUF_INIT;
    strbuf_addstr(&script, "import os\n");
    json_each (file, files) {
        strbuf_addstr(&script, "p = ");
        json_write_str(&script, in_workspace(file->key), strlen(in_workspace(file->key)), JSON_ASCII);
        strbuf_addstr(&script,
                      "\nos.makedirs(os.path.dirname(p) or '.', exist_ok=True)\nopen(p, 'w', encoding='utf-8').write(");
        json_write_str(&script, json_str(file, ""), strlen(json_str(file, "")), JSON_ASCII);
        strbuf_addstr(&script, ")\n");
    }
    strbuf_addstr(&script, "emit_result(len(os.listdir('.')))\n");
    use(rig, take_next(rig), script.buf, 0, 0);
    if (!rig->result.success)
        vector_fail(rig->v, "expected files to be written got %s", rig->result.error);
    use(rig, take_next(rig), "import os\nemit_result(sorted(os.listdir('.')))", 0, 0);
    got_json(rig->v, "after_return", rig->result.final_data ? rig->result.final_data : "null");
}

static void use_often(struct rig *rig, int64_t uses)
{
    for (int64_t i = 0; i < uses; i++)
        use(rig, take_next(rig), "emit_result(1)", 0, 0);
}

/* A script for the stand-in that ends this way; NULL for an unknown word. */
static const char *script_for(const char *outcome)
{
    static const struct {
        const char *word, *script;
    } ways[] = {
        {"result", "pass"},  {"success", "pass"},   {"ok", "pass"},      {"error", "fail"},
        {"failure", "fail"}, {"exception", "fail"}, {"timeout", "hang"}, {"flood", "flood"},
        {"eof", "leave"},    {"closed", "leave"},   {"exit", "leave"},   {"crash", "leave"},
    };
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        if (strcmp(ways[i].word, outcome) == 0)
            return ways[i].script;
    return NULL;
}

static void run_outcomes(struct rig *rig, const struct json *outcomes)
{
    json_each (outcome, outcomes) {
        const char *script = script_for(json_str(outcome, ""));
        if (!script) {
            vector_fail(rig->v, "expected an outcome the runner understands got %s", json_str(outcome, ""));
            return;
        }
        use(rig, take_next(rig), script, 0.01, 100000);
    }
}

void area_pool(struct vector *v)
{
    struct err err = ERR_INIT;
    struct rig rig = {
        .v = v,
        .loop = loop_new(clock_system()),
        .recorded = {.name = "stand-in",
                     .argv = (char *[]){SOURCE_DIR "/tests/support/fake_harness.sh", "{workspace}", NULL}}};
    if (sandbox_engines_load(&rig.engines, NULL, &err) ||
        !(rig.folder = file_make_temp_dir(NULL, "keyturn-pool-", &err)))
        BUG("%s", err.text);
    const struct sandbox_engine *engine = sandbox_engines_choose(&rig.engines);
    const struct json *outcomes = in_get(v, "outcomes"), *files = in_get(v, "writes");
    if (!engine || strcmp(engine->name, "bwrap") != 0)
        engine = sandbox_engines_find(&rig.engines, "none");
    open_pool(&rig, outcomes ? &rig.recorded : engine);
    if (in_has(v, "checkouts"))
        check_out(&rig, in_int(v, "checkouts", 0));
    if (files)
        write_files(&rig, files);
    if (in_has(v, "uses"))
        use_often(&rig, in_int(v, "uses", 0));
    if (outcomes)
        run_outcomes(&rig, outcomes);
    if (!in_has(v, "checkouts"))
        got_status(&rig);
    got_count(v, "retired", (int64_t)pool_status(rig.pool).retired);
    if (in_has(v, "uses") || outcomes) /* which caller is next? */
        take_next(&rig);
    got_bool(v, "replacement", rig.boxes > 1);
    got_count(v, "reused", rig.reused);
    got_count(v, "boxes", rig.boxes);
    pool_free(rig.pool);
    loop_free(rig.loop);
    script_result_release(&rig.result);
    sandbox_engines_release(&rig.engines);
    if (file_remove_tree(rig.folder, &err))
        BUG("%s", err.text);
    free(rig.folder);
}
