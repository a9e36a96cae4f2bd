/* Runs glob.normalize, artifact.ref, dir.digest, outputspec.json, mime.*, workspace.create and registry.acquire. */

#include "areas.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/tree.h"
#include "support/shortcuts.h"
#include "vector.h"
#include "workspace/collect.h"
#include "workspace/globs.h"
#include "workspace/layout.h"
#include "workspace/mime.h"
#include "workspace/versions.h"
#include "workspace/workspace.h"
#include "workspace_rig.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

void area_glob_normalize(struct vector *v)
{
    const struct json *patterns = in_get(v, "patterns");
    const char **out = arena_calloc(&v->arena, (patterns ? patterns->count : 0) + 1, sizeof(*out));
    size_t count = 0;
    json_each (pattern, patterns) {
        CLEANUP(free) char *text = globs_normalize(pattern->text);
        if (text)
            out[count++] = arena_strdup(&v->arena, text);
    }
    got_json(v, "out", vector_list(v, out, count));
}

void area_artifact_ref(struct vector *v)
{
    CLEANUP(free) char *name = NULL;
    struct err err = ERR_INIT;
    int64_t version;
    bool failed = versions_parse_ref(in_text(v, "ref", ""), &name, &version, &err) < 0;
    tell_error(v, &err, failed);
    got_text(v, "name", name);
    if (version == VERSIONS_NEWEST)
        got_text(v, "version", NULL);
    else
        got_int(v, "version", version);
}

/* ---- dir.digest ---- */

struct digesting {
    struct vector *v;
    const char *folder;
    char first[HASH_SHA256_HEX], last[HASH_SHA256_HEX];
    size_t count;
    bool failed;
    struct err err;
};

static void take_digest(struct digesting *d)
{
    d->failed = tree_digest_path(d->folder, d->last, &d->err) < 0;
    if (d->count++ == 0)
        memcpy(d->first, d->last, sizeof(d->first));
}

/* A step in words: "one file" stands for a file of the tree. */
static void digest_step(struct digesting *d, const char *step)
{
    struct vector *v = d->v;
    const char *file = arena_printf(&v->arena, "%s/a.txt", d->folder), *space = strrchr(step, ' ');
    if (strncmp(step, "digest", 6) == 0) {
        struct stat st;
        if (d->count == 0 && stat(file, &st) < 0)
            rig_write(v, d->folder, "a.txt", "one", 3);
        take_digest(d);
    } else if (strncmp(step, "touch", 5) == 0) {
        const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
        if (utimensat(AT_FDCWD, file, times, 0) < 0)
            BUG("cannot touch %s", file);
    } else if (strncmp(step, "chmod", 5) == 0 && space) {
        if (chmod(file, (mode_t)strtoul(space + 1, NULL, 8)) < 0)
            BUG("cannot chmod %s", file);
    } else if (strncmp(step, "rename", 6) == 0) {
        if (rename(file, arena_printf(&v->arena, "%s/renamed", d->folder)) < 0)
            BUG("cannot rename %s", file);
    } else if (strncmp(step, "write", 5) == 0 || strncmp(step, "change", 6) == 0) {
        rig_write(v, d->folder, "a.txt", "two", 3);
    } else {
        vector_fail(v, "expected a step the runner understands got %s", step);
    }
}

void area_dir_digest(struct vector *v)
{
    const char *top = rig_temp_dir(v), *root = in_text(v, "root", NULL);
    struct digesting d = {.v = v, .folder = root ? arena_printf(&v->arena, "%s/%s", top, root) : top};
    rig_write_tree(v, top, in_get(v, "files"));
    rig_make_dirs(v, top, in_get(v, "dirs"));
    rig_make_links(v, top, in_get(v, "symlinks"));
    const struct json *steps = in_get(v, "steps");
    json_each (step, steps) {
        digest_step(&d, step->text);
    }
    if (!steps)
        take_digest(&d);
    tell_error(v, &d.err, d.failed);
    got_text(v, "sha256", d.last);
    got_bool(v, "equal", strcmp(d.first, d.last) == 0);
    if (file_remove_tree(top, NULL) < 0)
        vector_fail(v, "expected nothing left behind");
}

/* ---- outputspec.json, mime.* ---- */

static const struct vector_field spec_fields[] = {
    FIELD("max_files", struct output_spec, max_files),
    FIELD("max_file_bytes", struct output_spec, max_file_bytes),
    FIELD("max_total_bytes", struct output_spec, max_total_bytes),
    FIELD("save", struct output_spec, save),
    FIELD("inline", struct output_spec, inline_content),
};

void area_outputspec_json(struct vector *v)
{
    CLEANUP(output_spec) struct output_spec spec;
    struct err err = ERR_INIT;
    const char *text = in_text(v, "json", "");
    bool failed = output_spec_parse(&spec, text, strlen(text), &err) < 0;
    tell_error(v, &err, failed);
    got_json(v, "globs", vector_list(v, (const char *const *)spec.globs, spec.glob_count));
    vector_compare(v, spec_fields, &spec);
    got_text(v, "name_template", spec.name_template ? spec.name_template : "");
}

void area_mime_is_text(struct vector *v)
{
    got_bool(v, "text", mime_is_text(in_text(v, "mime", "")));
}

void area_mime_sniff(struct vector *v)
{
    const char *hex = in_text(v, "bytes_hex", "");
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        strbuf_addch(&bytes, (char)byte);
    if (*hex)
        vector_fail(v, "expected pairs of hexadecimal digits got %s", hex);
    got_text(v, "mime", mime_sniff(bytes.buf, bytes.len));
}

/* ---- workspace.create ---- */

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* The existing folders of the layout, and the kind of work/inputs. */
static void tell_layout(struct vector *v, const char *path)
{
    const char *dirs[LAYOUT_DIRS];
    static const enum layout_dir sorted[] = {LAYOUT_OUT, LAYOUT_RUNS, LAYOUT_SKILLS, LAYOUT_WORK};
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(sorted); i++)
        if (rig_mode(v, path, layout_rows[sorted[i]].name))
            dirs[count++] = layout_rows[sorted[i]].name;
    got_json(v, "dirs", vector_list(v, dirs, count));
    tell_files(v, path);
    tell_link(v, path, LAYOUT_INPUTS);
}

/* A host folder that is mounted at work/inputs; the first of its names that a case may use. */
static const char *read_inputs(struct vector *v)
{
    const char *base = in_text(v, "inputs_host_base", in_text(v, "inputs", NULL));
    if (!base || !in_bool(v, "auto_inputs", true))
        return NULL;
    const char *path = vector_substitute(v, base);
    if (file_mkdirs(path, 0755, NULL) < 0)
        BUG("cannot make %s", path);
    rig_write_tree(v, path, in_get(v, "host"));
    return path;
}

void area_workspace_create(struct vector *v)
{
    const char *top = rig_temp_dir(v), *mode = in_text(v, "mode", "isolated"), *id = in_text(v, "exec_id", "case");
    int64_t calls = in_int(v, "calls", 1);
    struct workspace *made[8] = {NULL};
    struct err err = ERR_INIT;
    vector_bind(v, "dir", arena_printf(&v->arena, "%s/dir", top));
    vector_bind(v, "hostdir", arena_printf(&v->arena, "%s/host", top));
    vector_bind(v, "file", arena_printf(&v->arena, "%s/file", top));
    rig_write(v, top, "file", "a file", 6);
    struct workspace_options options = {
        .base = in_text(v, "work_root", top), .trusted = strcmp(mode, "trusted") == 0, .inputs = read_inputs(v)};
    const struct json *text = in_get(v, "metadata_file");
    if (text && text->type == JSON_STRING)
        rig_write(v, options.base, LAYOUT_METADATA, text->text, text->len);
    bool failed = false, distinct = true;
    for (int64_t i = 0; i < calls && i < (int64_t)COUNT_OF(made); i++) {
        made[i] = workspace_create(&options, id, NULL, &err);
        failed |= !made[i];
        for (int64_t other = 0; made[i] && other < i; other++)
            distinct &= made[other] && strcmp(made[other]->path, made[i]->path) != 0;
    }
    tell_error(v, &err, failed);
    got_bool(v, "distinct", distinct);
    const struct json *path = wants(v, "path");
    if (made[0]) {
        const char *want = path ? vector_substitute(v, path->text) : NULL;
        CLEANUP(free) char *real = want ? realpath(want, NULL) : NULL;
        if (want && (!real || strcmp(real, made[0]->path) != 0))
            vector_fail(v, "expected the path %s got %s", want, made[0]->path);
        got_prefix(v, "path_prefix", strrchr(made[0]->path, '/') + 1);
        got_text(v, "mode", rig_mode(v, made[0]->path, "."));
        got_text(v, "dir_mode", rig_mode(v, made[0]->path, "."));
        got_text(v, "id", made[0]->id);
        tell_layout(v, made[0]->path);
        if (workspace_cleanup(made[0], &err) < 0)
            vector_fail(v, "expected it to be cleaned up got %s", err.text);
        got_bool(v, "exists_after", exists(made[0]->path));
        got_bool(v, "exists_after_cleanup", exists(made[0]->path));
    }
    struct workspace nowhere = {.path = (char *)""};
    got_text(v, "empty_path_error", workspace_cleanup(&nowhere, &err) < 0 ? err.text : NULL);
    for (size_t i = 0; i < COUNT_OF(made); i++)
        workspace_free(made[i]);
    if (file_remove_tree(top, NULL) < 0)
        vector_fail(v, "expected nothing left behind");
}

/* ---- registry.acquire ---- */

struct acquiring {
    struct vector *v;
    const char *top;
    struct workspace_registry *registry;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int creates, fail_at; /* the creation with this number fails */
    bool begun, hold;     /* the creation waits while this is held */
};

static struct workspace *make(void *user, const char *id, struct err *err)
{
    struct acquiring *a = user;
    pthread_mutex_lock(&a->mutex);
    bool fail = ++a->creates == a->fail_at;
    a->begun = true;
    pthread_cond_broadcast(&a->changed);
    while (a->hold)
        pthread_cond_wait(&a->changed, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
    if (fail) {
        err_set(err, "it was to fail");
        return NULL;
    }
    return workspace_create(&(struct workspace_options){.base = a->top}, id, NULL, err);
}

struct caller {
    struct acquiring *a;
    const char *id;
    struct registry_call call;
    struct workspace *ws;
    struct err err;
    pthread_t thread;
};

static void *acquire(void *user)
{
    struct caller *caller = user;
    caller->ws =
        workspace_registry_acquire(caller->a->registry, caller->id, make, caller->a, &caller->call, &caller->err);
    return NULL;
}

static void let_go(struct acquiring *a)
{
    pthread_mutex_lock(&a->mutex);
    a->hold = false;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

static void await_begin(struct acquiring *a)
{
    pthread_mutex_lock(&a->mutex);
    while (!a->begun)
        pthread_cond_wait(&a->changed, &a->mutex);
    pthread_mutex_unlock(&a->mutex);
}

/* Several parallel callers; the first may be canceled while the workspace is being created. */
static void acquire_at_once(struct acquiring *a, const char *id, size_t count, bool cancel_first)
{
    struct vector *v = a->v;
    struct caller *callers = arena_calloc(&v->arena, count, sizeof(*callers));
    a->hold = true;
    for (size_t i = 0; i < count; i++) {
        callers[i].a = a;
        callers[i].id = id;
        if (pthread_create(&callers[i].thread, NULL, acquire, &callers[i]) != 0)
            BUG("no thread");
        if (i == 0)
            await_begin(a);
        if (i == 0 && cancel_first) {
            workspace_registry_cancel(a->registry, &callers[0].call);
            pthread_join(callers[0].thread, NULL);
        }
    }
    let_go(a);
    for (size_t i = cancel_first ? 1 : 0; i < count; i++)
        pthread_join(callers[i].thread, NULL);
    bool same = true;
    for (size_t i = 1; i < count; i++)
        same &= callers[i].ws && callers[i].ws == callers[count - 1].ws;
    got_bool(v, "same", same);
    got_text(v, "first", callers[0].ws ? "ok" : "error");
    got_text(v, "leader", callers[0].ws ? "ok" : "error");
    got_text(v, "second", count > 1 && callers[1].ws ? "ok" : "error");
}

/* `cancelled`: one word for all callers, or a list with one for each. */
static void acquire_in_turn(struct acquiring *a, const struct json *ids, const struct json *cancelled, bool cached)
{
    struct vector *v = a->v;
    size_t count = ids ? ids->count : 0;
    struct caller *callers = arena_calloc(&v->arena, count + 1, sizeof(*callers));
    const char **results = arena_calloc(&v->arena, count + 1, sizeof(*results));
    struct caller before = {.a = a, .id = count ? json_at(ids, 0)->text : ""};
    if (cached)
        acquire(&before);
    bool same = true, failed = false;
    for (size_t i = 0; i < count; i++) {
        callers[i].a = a;
        callers[i].id = json_at(ids, i)->text;
        bool list = cancelled && cancelled->type == JSON_ARRAY;
        atomic_store(&callers[i].call.cancelled, json_bool(list ? json_at(cancelled, i) : cancelled, false));
        acquire(&callers[i]);
        results[i] = callers[i].ws ? "ok" : "error";
        failed |= !callers[i].ws;
        same &= callers[i].ws && callers[i].ws == callers[0].ws;
    }
    got_json(v, "results", vector_list(v, results, count));
    got_bool(v, "same", same);
    if (!wants(v, "results"))
        tell_error(v, count ? &callers[count - 1].err : &before.err, failed);
}

void area_registry_acquire(struct vector *v)
{
    struct acquiring a = {.v = v, .top = rig_temp_dir(v), .registry = workspace_registry_new()};
    pthread_mutex_init(&a.mutex, NULL);
    pthread_cond_init(&a.changed, NULL);
    const struct json *ids = in_get(v, "ids");
    int64_t parallel = in_int(v, "parallel", 0);
    bool cancel_leader = in_flag(v, "cancel_leader"), second = in_flag(v, "second_caller");
    const struct json *cancelled = in_get(v, "cancelled");
    bool cached = in_flag(v, "cached");
    a.fail_at = in_flag(v, "fail_first") ? 1 : 0;
    if (parallel || cancel_leader)
        acquire_at_once(&a, ids ? json_at(ids, 0)->text : "s1",
                        parallel ? (size_t)parallel
                        : second ? 2
                                 : 1,
                        cancel_leader);
    else
        acquire_in_turn(&a, ids, cancelled, cached);
    got_int(v, "creates", a.creates);
    workspace_registry_free(a.registry, true);
    if (rmdir(a.top) < 0)
        vector_fail(v, "expected nothing left behind in %s", a.top);
    pthread_cond_destroy(&a.changed);
    pthread_mutex_destroy(&a.mutex);
}
