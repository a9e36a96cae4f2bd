/* run_script: a Python script in a sandbox of the session's pool.
 *
 *   start ──► reading files ──► waiting for a box ──► running ──► the box is given back, the call finished
 *                  │ one is missing,       │ timeout, or    │ canceled: the script and its box are killed
 *                  ▼ or too large          ▼ must ask       ▼
 *               finished                finished         finished, when the executor reports the end
 *
 * The script's time starts with the call and includes the wait for a box; otherwise a busy pool would stretch every
 * call by an unknown time. It ends shortly before the turn's time, so that the script can still report its progress.
 *
 * A script gets only the secrets that the user declared for this session. The model may name any secret, but it must
 * not choose from the harness's environment, so other names are refused here.
 *
 * The effect of a call is the strongest effect among the tools its script may use. Without tools it is the effect of
 * a plain script. Tools that the call does not name are not available to the script.
 *
 * The script works in a workspace of its own that is wiped afterwards, so its own actions need no approval. A script
 * with DESTRUCTIVE tools does: their declaration says so, and a sandbox engine may let them reach more than Keyturn
 * knows. The list of tools is known only once a box is up, so the question comes then; the second execution runs the
 * script. Files of the turn's workspace are copied into the script's workspace when the call starts. */

#include "script_tool.h"
#include "base/beneath.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "sandbox/pool.h"
#include "sandbox/script.h"
#include "tool.h"
#include "workspace/glob.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#define TIMEOUT_MAX_S  600 /* repeated in the schema */
#define SHORTEST_S     1.0 /* shortest time a harness accepts */
#define WORTH_S        0.5 /* with less time left the script is not started */
#define SAY_WAITING_US 250000
#define SECRETS_MAX    32

struct script_call {
    struct tool_run *run;
    struct pool *pool;
    struct loop_timer timer; /* while it waits for a box */
    struct pool_ticket *ticket;
    struct box *box;
    struct script_run *script;
    double timeout_s;
    int64_t started_us;
    const char *secrets[SECRETS_MAX + 1];
    const char **tools;    /* NULL: all */
    struct loop_work work; /* while it reads files */
    bool reading, failed;
    struct script_files files;
    struct err err;
};

/* ---- the end ---- */

static void finish(struct script_call *call, struct tool_reply *take_reply)
{
    struct tool_run *run = call->run;
    loop_timer_stop(run->env->loop, &call->timer);
    if (call->ticket)
        pool_forget(call->pool, call->ticket);
    run->state = NULL;
    script_files_release(&call->files);
    free(call->tools);
    free(call);
    tool_run_finish(run, take_reply);
}

static void finish_error(struct script_call *call, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void finish_error(struct script_call *call, const char *fmt, ...)
{
    struct tool_reply reply = {0};
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    tool_reply_error(&reply, "%s", text.buf);
    finish(call, &reply);
}

static void finish_asking(struct script_call *call)
{
    struct tool_reply reply = {0};
    tool_reply_ask(&reply);
    finish(call, &reply);
}

static void on_script_tool_script_done(void *user, struct script_result *take_result)
{
    struct script_call *call = user;
    struct script_result *result = take_result;
    struct strbuf text = STRBUF_INIT;
    pool_give(call->pool, call->box, script_result_keeps_box(result));
    if (result->success) {
        struct tool_reply reply = {0};
        script_result_write(&text, result);
        tool_reply_output(&reply, strbuf_detach(&text, NULL));
        finish(call, &reply);
    } else if (result->traceback && *result->traceback) {
        finish_error(call, "%s\n%s", result->error, script_traceback_end(result->traceback));
    } else {
        finish_error(call, "%s", result->error);
    }
}

/* ---- a box ---- */

/* The time left for the script. `named_s` is the time for messages: the requested one, unless the turn's time is
 * shorter. */
static double time_left_s(const struct script_call *call, double *named_s)
{
    double waited_s = (double)(loop_now_us(call->run->env->loop) - call->started_us) / 1e6;
    double own_s = call->timeout_s - waited_s, turn_s = deadline_remaining_s(&call->run->deadline);
    if (turn_s >= SHORTEST_S + DEADLINE_LAST_WORD_S)
        turn_s -= DEADLINE_LAST_WORD_S;
    *named_s = own_s < turn_s ? call->timeout_s : round(turn_s * 10) / 10;
    return own_s < turn_s ? own_s : turn_s;
}

static void on_script_tool_box(void *user, struct box *box, const char *why)
{
    struct script_call *call = user;
    const struct json *script = json_get(call->run->arguments, "script");
    double named_s, left_s = time_left_s(call, &named_s);
    call->ticket = NULL;
    call->box = box;
    loop_timer_stop(call->run->env->loop, &call->timer);
    if (!box) {
        finish_error(call, "no sandbox: %s", why);
        return;
    }
    if ((call->tools || call->files.count) && !pool_tools(call->pool)->chosen) {
        pool_give(call->pool, box, true);
        finish_error(call, "the image of this sandbox is outdated: its harness does not support `files` and `tools`; "
                           "./dev image rebuilds it");
        return;
    }
    if (left_s < WORTH_S) {
        pool_give(call->pool, box, true);
        finish_error(call, "no time left after waiting for a sandbox");
        return;
    }
    if (tool_run_must_ask(call->run)) {
        pool_give(call->pool, box, true);
        finish_asking(call);
        return;
    }
    struct script_request request = {
        .script = script->text,
        .script_len = script->len,
        .mode = (enum script_mode)script_mode_from_name(json_str(json_get(call->run->arguments, "mode"), "plan")),
        .timeout_s = left_s > SHORTEST_S ? left_s : SHORTEST_S,
        .named_timeout_s = named_s > SHORTEST_S ? named_s : SHORTEST_S,
        .secrets = call->secrets,
        .tools = call->tools,
        .files = call->files.items,
        .file_count = call->files.count,
        .emitter = call->run->emitter,
        .call = call->run->call,
    };
    call->script = script_run_start(call->run->env->loop, box_channel(box), &request,
                                    &(struct script_listener){.done = on_script_tool_script_done, .user = call});
}

static void waited_too_long(struct loop_timer *timer)
{
    struct script_call *call = CONTAINER_OF(timer, struct script_call, timer);
    finish_error(call, "no sandbox was free within %g s", call->timeout_s);
}

static void say_waiting(struct loop_timer *timer)
{
    struct script_call *call = CONTAINER_OF(timer, struct script_call, timer);
    tool_run_say(call->run, "progress", "waiting for a sandbox");
    loop_timer_start(call->run->env->loop, &call->timer, call->started_us + (int64_t)(call->timeout_s * 1e6),
                     waited_too_long);
}

static void wait_for_box(struct script_call *call)
{
    loop_timer_start(call->run->env->loop, &call->timer, call->started_us + SAY_WAITING_US, say_waiting);
    call->ticket = pool_take(call->pool, on_script_tool_box, call);
}

/* ---- files ---- */

static void read_files(struct loop_work *work)
{
    struct script_call *call = CONTAINER_OF(work, struct script_call, work);
    const struct tool_run *run = call->run;
    call->failed = script_files_read(&call->files, run->env->root, json_get(run->arguments, "files"),
                                     &run->deadline.cancelled, &call->err) < 0;
}

static void say_files(struct script_call *call)
{
    CLEANUP(free)
    char *text = xasprintf("%zu file%s, %zu bytes, copied for the script", call->files.count,
                           call->files.count == 1 ? "" : "s", call->files.bytes);
    tool_run_say(call->run, "progress", text);
}

static void files_read(struct loop_work *work)
{
    struct script_call *call = CONTAINER_OF(work, struct script_call, work);
    call->reading = false;
    if (call->failed) {
        finish_error(call, "%s", call->err.text);
        return;
    }
    say_files(call);
    wait_for_box(call);
}

/* ---- the tool ---- */

static void refuse_script(struct tool_run *run, const char *why)
{
    struct tool_reply reply = {.final = true}; /* the condition does not change within a turn */
    tool_reply_error(&reply, "%s", why);
    tool_run_finish(run, &reply);
}

static bool is_among(const char *const *names, const char *wanted)
{
    for (; names && *names; names++)
        if (strcmp(*names, wanted) == 0)
            return true;
    return false;
}

/* The error lists the declared secrets, so that the model can correct the call. */
static void refuse_secret(struct tool_run *run, const char *wanted, const char *const *names)
{
    struct tool_reply reply = {0};
    CLEANUP(strbuf) struct strbuf declared = STRBUF_INIT;
    for (; names && *names; names++)
        strbuf_addf(&declared, "%s%s", declared.len ? ", " : "", *names);
    tool_reply_error(&reply, "the secret %s is not declared for this session (declared: %s)", wanted,
                     declared.len ? declared.buf : "none");
    tool_run_finish(run, &reply);
}

/* Returns true if all named tools exist, or the tools are not known yet. Otherwise the error lists the tools. */
static bool find_tools(struct tool_run *run, const struct toolset *set)
{
    const struct json *missing = NULL;
    json_each (name, json_get(run->arguments, "tools"))
        if (set->told && !missing && !toolset_find(set, json_str(name, "")))
            missing = name;
    if (!missing)
        return true;
    struct tool_reply reply = {0};
    CLEANUP(strbuf) struct strbuf there = STRBUF_INIT;
    for (size_t i = 0; i < set->count; i++)
        strbuf_addf(&there, "%s%s", i ? ", " : "", set->items[i].name);
    tool_reply_error(&reply, "unknown tool %s for scripts (known: %s)", json_str(missing, ""),
                     there.len ? there.buf : "none");
    tool_run_finish(run, &reply);
    return false;
}

/* The tools' names for the request. */
static const char **name_tools(const struct json *list)
{
    const char **names = list ? xcalloc((size_t)list->count + 1, sizeof(*names)) : NULL;
    size_t count = 0;
    json_each (name, list)
        names[count++] = json_str(name, "");
    return names;
}

static enum effect effect_of(const struct toolset_tool *tool)
{
    return tool && *tool->effect ? effect_from_name(tool->effect) : EFFECT_LOCAL_WRITE;
}

/* The call uses no tools, so it need not wait for the list of tools. */
static bool names_none(const struct json *list)
{
    return list && (list->type != JSON_ARRAY || !list->count);
}

static bool await_tools(const struct tool_env *env, const struct json *arguments, struct waiter *waiter)
{
    if (!env->pool || pool_tools_known(env->pool) || names_none(json_get(arguments, "tools")))
        return false;
    pool_await_tools(env->pool, waiter);
    return true;
}

static void forget_tools(const struct tool_env *env, struct waiter *waiter)
{
    pool_stop_awaiting(env->pool, waiter);
}

static enum effect script_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                                 const struct json *arguments)
{
    const struct json *list = json_get(arguments, "tools");
    const struct toolset *set = env->pool ? pool_tools(env->pool) : NULL;
    (void)call;
    if (!set || names_none(list) || (!list && set->told && !set->count))
        return tool->spec.effect;
    if (!set->told)
        return EFFECT_UNKNOWN;
    enum effect effect = EFFECT_READ_ONLY;
    json_each (name, list)
        effect = effect_stronger(effect, effect_of(toolset_find(set, json_str(name, ""))));
    for (size_t i = 0; !list && i < set->count; i++)
        effect = effect_stronger(effect, effect_of(&set->items[i]));
    return effect;
}

static void start_script(struct tool_run *run)
{
    if (!run->env->pool) {
        refuse_script(run, "no sandbox; run keyturn engines");
        return;
    }
    const char *const *declared = pool_secrets(run->env->pool);
    json_each (name, json_get(run->arguments, "secrets"))
        if (!is_among(declared, json_str(name, ""))) {
            refuse_secret(run, json_str(name, ""), declared);
            return;
        }
    if (!find_tools(run, pool_tools(run->env->pool)))
        return;
    struct script_call *call = xcalloc(1, sizeof(*call));
    call->run = run;
    call->tools = name_tools(json_get(run->arguments, "tools"));
    call->pool = run->env->pool;
    call->timeout_s = json_num(json_get(run->arguments, "timeout"), SCRIPT_TIMEOUT_S);
    call->started_us = loop_now_us(run->env->loop);
    size_t count = 0;
    json_each (name, json_get(run->arguments, "secrets"))
        if (count < SECRETS_MAX)
            call->secrets[count++] = json_str(name, "");
    run->state = call;
    call->reading = json_get(run->arguments, "files") != NULL;
    if (call->reading)
        loop_work_start(run->env->loop, &call->work, read_files, files_read);
    else
        wait_for_box(call);
}

static void cancel_script(struct tool_run *run)
{
    struct script_call *call = run->state;
    if (call->reading)
        return; /* the work sees the cancellation and returns */
    if (call->script)
        script_run_cancel(call->script, "canceled");
    else
        finish_error(call, "canceled while waiting for a sandbox");
}

const struct tool tool_run_script = {
    .spec =
        {
            .name = "run_script",
            .description =
                "Run a Python script in a sandbox without network. Its workspace holds only read-only copies of "
                "`files`, which it can import. It returns its result with one call of emit_result(data), as JSON; "
                "emit_intermediate(label, data) and print() are shown while it runs. The functions of the tools folder "
                "are in its scope.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"script:{script}", NULL}, /* each script has a sandbox of its own */
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"script\":{\"type\":\"string\",\"minLength\":1,\"description\":\"the Python source\"},"
                "\"mode\":{\"type\":\"string\",\"enum\":[\"plan\",\"interactive\"],"
                "\"description\":\"plan (default) must return a result; interactive may end without one\"},"
                "\"timeout\":{\"type\":\"number\",\"minimum\":1,\"maximum\":600,"
                "\"description\":\"seconds, default 60\"},"
                "\"secrets\":{\"type\":\"array\",\"maxItems\":32,\"items\":{\"type\":\"string\"},"
                "\"description\":\"names of secrets that the script needs in its environment\"},"
                "\"tools\":{\"type\":\"array\",\"maxItems\":100,\"items\":{\"type\":\"string\",\"minLength\":1},"
                "\"description\":\"the functions of the tools folder that the script uses, default all; the call gets "
                "the strongest effect of them\"},"
                "\"files\":{\"type\":\"array\",\"maxItems\":100,\"items\":{\"type\":\"string\",\"minLength\":1},"
                "\"description\":\"files that the script needs: paths, folders or globs (src/**/*.py), relative to the "
                "project root; read-only copies, at most 500 files and 8 MB\"}},"
                "\"required\":[\"script\"],\"additionalProperties\":false}",
            .timeout_s = TIMEOUT_MAX_S + SCRIPT_GRACE_S + 1, /* the script's own time ends first */
        },
    .effect = script_effect,
    .await = await_tools,
    .forget = forget_tools,
    .start = start_script,
    .cancel = cancel_script,
};

/* ---- script files ---- */

#define SPECIAL "*?[{\\"

struct gathering {
    const struct beneath *root;
    const atomic_bool *cancelled;
    struct script_files *files;
    struct hash_map seen;    /* paths already taken */
    const struct glob *glob; /* NULL: every file */
    size_t found;            /* matches of the pattern */
    bool failed;
    struct err *err;
};

static int take_file(struct gathering *g, const char *path)
{
    struct script_files *files = g->files;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    size_t left = SCRIPT_FILES_BYTES - files->bytes;
    struct stat st;
    g->found++;
    if (hash_map_has(&g->seen, path))
        return 0;
    if (!utf8_valid(path, strlen(path)))
        return err_set(g->err, "files: the name of %s is not UTF-8", path);
    if (files->count == SCRIPT_FILES_MAX)
        return err_set(g->err, "files: more than %d; name fewer", SCRIPT_FILES_MAX);
    /* One byte more than allowed, because 0 would mean no limit. */
    if (beneath_read(g->root, path, &bytes, left + 1, &st, g->err) < 0 || bytes.len > left) {
        if (bytes.len > left || (g->err && g->err->code == EFBIG))
            return err_set(g->err, "files: more than %u MB with %s; name fewer", SCRIPT_FILES_BYTES >> 20, path);
        return err_prefix(g->err, "files");
    }
    hash_map_put(&g->seen, path, 1);
    files->bytes += bytes.len;
    GROW(files->items, files->count, files->room);
    struct script_file *file = &files->items[files->count++];
    *file = (struct script_file){.path = xstrdup(path), .executable = st.st_mode & S_IXUSR};
    file->bytes = strbuf_detach(&bytes, &file->len);
    return 0;
}

static enum walk_next take_entry(void *user, const struct walk_entry *entry)
{
    struct gathering *g = user;
    if (entry->type == DT_REG && (!g->glob || glob_match(g->glob, entry->path)))
        g->failed = take_file(g, entry->path) < 0;
    return g->failed ? WALK_STOP : WALK_CONTINUE;
}

/* Skips folders that cannot be read. */
static enum walk_next ignore_denied(void *user, const char *path, int code)
{
    (void)user;
    (void)path;
    (void)code;
    return WALK_CONTINUE;
}

static int take_folder(struct gathering *g, const char *path, int fd)
{
    static const struct walk_visitor visitor = {.entry = take_entry, .denied = ignore_denied};
    struct walk_options options = {.order = WALK_BY_PATH, .skip_git = true, .cancelled = g->cancelled};
    const char *prefix = strcmp(path, ".") == 0 ? "" : path;
    return walk_tree(fd, prefix, &options, &visitor, g, g->err) < 0 || g->failed ? -1 : 0;
}

/* Takes a file, or all files below a folder. */
static int take_path(struct gathering *g, const char *path, bool may_lack)
{
    struct err why = ERR_INIT;
    CLEANUP(fd) int fd = beneath_openat(g->root, path, O_RDONLY, 0, &why);
    struct stat st;
    if (fd < 0 && may_lack && (why.code == ENOENT || why.code == ENOTDIR))
        return 0;
    if (fd < 0)
        return err_set(g->err, "files: %s", why.text);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return take_folder(g, path, fd);
    return g->glob ? 0 : take_file(g, path);
}

/* Takes the files that match. The search starts at the literal prefix of the pattern. */
static int take_matching(struct gathering *g, const char *pattern)
{
    size_t plain = strcspn(pattern, SPECIAL);
    while (plain && pattern[plain - 1] != '/')
        plain--;
    CLEANUP(free) char *given = plain ? xmemdup0(pattern, plain) : xstrdup(".");
    CLEANUP(free) char *folder = beneath_clean(g->root, given, g->err);
    if (!folder)
        return err_prefix(g->err, "files");
    CLEANUP(free)
    char *clean =
        xasprintf("%s%s%s", strcmp(folder, ".") ? folder : "", strcmp(folder, ".") ? "/" : "", pattern + plain);
    struct glob *glob = glob_new(clean, g->err);
    if (!glob)
        return err_prefix(g->err, "files");
    g->glob = glob;
    int rc = take_path(g, folder, true);
    g->glob = NULL;
    glob_free(glob);
    return rc;
}

static int take_pattern(struct gathering *g, const char *pattern)
{
    int rc;
    g->found = 0;
    if (pattern[strcspn(pattern, SPECIAL)]) {
        rc = take_matching(g, pattern);
    } else {
        CLEANUP(free) char *path = beneath_clean(g->root, pattern, g->err);
        rc = path ? take_path(g, path, false) : err_prefix(g->err, "files");
    }
    if (atomic_load(g->cancelled))
        return err_set(g->err, "canceled");
    if (rc == 0 && !g->found)
        return err_set(g->err, "files: no match for %s", pattern);
    return rc;
}

int script_files_read(struct script_files *files, const struct beneath *root, const struct json *list,
                      const atomic_bool *cancelled, struct err *err)
{
    struct gathering g = {.root = root, .cancelled = cancelled, .files = files, .err = err};
    int rc = 0;
    json_each (pattern, list)
        if (rc == 0)
            rc = take_pattern(&g, json_str(pattern, ""));
    hash_map_release(&g.seen);
    return rc;
}

void script_files_release(struct script_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].bytes);
    }
    free(files->items);
    *files = (struct script_files){0};
}
