/* bring_back: proposes files that programs made as a change of the project.
 *
 * No program in a workspace can reach the user's files. This is the only way back, and it is a write like any other:
 * it is shown as a diff, decided, saved for undo, and then written from the approved bytes. Later changes in the
 * workspace do not matter. */

#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/spell.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "runtime.h"
#include "runtime_job.h"
#include "workspace/collect.h"
#include "workspace/glob.h"
#include "workspace/globs.h"
#include "workspace/inside.h"
#include "workspace/layout.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX     200
#define LEFT_OUT_MAX  20 /* listed; more are only counted */
#define NEW_FILE_MODE 0644
#define PROGRAM_MODE  0755

struct bringing {
    struct runtime_job *job;
    const char *to; /* as given; "" is the project's folder */
    bool several;   /* the call names several things: then a folder keeps its name, because two would mix otherwise */
    struct change_set *set;
    struct strbuf left_out; /* requested files that cannot be read, with the reasons */
    size_t found, same, left_count;
};

/* A link to a folder counts as one. */
static bool is_folder(const struct beneath *root, const char *path)
{
    struct err err = ERR_INIT;
    CLEANUP(fd) int fd = beneath_openat(root, path, O_PATH | O_DIRECTORY, 0, &err);
    return fd >= 0;
}

/* The project's path for a file. For a file named on its own: exactly `to`, unless that is a folder. Otherwise it is
 * below `to`, at the same depth as below the literal part of the pattern. */
static char *place_for(const struct bringing *b, const char *name, const char *base, bool whole)
{
    const char *to = b->to;
    size_t len = strlen(to), below = strlen(base);
    const char *slash = strrchr(name, '/');
    bool folder = !len || to[len - 1] == '/' || is_folder(b->job->run->env->root, to);
    if (whole && !folder)
        return xstrdup(to);
    const char *rest = whole                                                            ? (slash ? slash + 1 : name)
                       : below && strncmp(name, base, below) == 0 && name[below] == '/' ? name + below + 1
                                                                                        : name;
    while (len && to[len - 1] == '/')
        len--;
    return len ? xasprintf("%.*s/%s", (int)len, to, rest) : xstrdup(rest);
}

static int bring_file(struct bringing *b, const struct collected_file *file, const char *base, bool whole,
                      struct err *err)
{
    CLEANUP(free) char *path = place_for(b, file->name, base, whole);
    if (file->truncated && file->size > OUTPUT_MAX_FILE_BYTES)
        return err_set(err, "%.300s is too large (%lld bytes; the limit of a file is %d MB)", file->name,
                       (long long)file->size, OUTPUT_MAX_FILE_BYTES >> 20);
    if (file->truncated)
        return err_set(err, "the files are too large in total (more than %d MB); name fewer", COLLECT_BYTES_MAX >> 20);
    if (b->set->count == FILES_MAX)
        return err_set(err, "more than %d files; name fewer", FILES_MAX);
    struct change *change = change_set_add(b->set, b->job->run->env->root, path, err);
    if (!change)
        return -1;
    b->found++;
    for (size_t i = 0; i + 1 < b->set->count; i++)
        if (strcmp(b->set->items[i].path, change->path) == 0)
            return err_set(err, "two files map to %.300s", path);
    change_side_set(&change->new, file->content, file->len,
                    change->old.exists ? change->old.mode
                    : file->runs       ? PROGRAM_MODE
                                       : NEW_FILE_MODE);
    b->same += change->old.exists && strcmp(change->old.digest, change->new.digest) == 0;
    return 0;
}

/* In the workspace; a link to a folder counts as one. */
static bool leads_to_folder(const struct beneath *root, const char *path)
{
    CLEANUP(fd) int fd = inside_open(root, path, O_PATH | O_DIRECTORY, NULL, NULL);
    return fd >= 0;
}

static bool is_there(const struct beneath *root, const char *path)
{
    struct stat st;
    struct err err = ERR_INIT;
    return beneath_lstat(root, path, &st, &err) == 0;
}

/* An existing file with exactly the given name wins over the pattern: "[id].tsx". */
static char *pattern_for(const struct beneath *root, const char *clean, bool folder)
{
    char *plain = folder || is_there(root, clean) ? globs_escape(clean) : xstrdup(clean);
    if (!folder)
        return plain;
    char *all = xasprintf("%s/**", plain);
    free(plain);
    return all;
}

static size_t parent_len(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

static void leave_out(struct bringing *b, const char *name, const char *why)
{
    if (b->left_count < LEFT_OUT_MAX)
        strbuf_addf(&b->left_out, "%s%.300s (%.200s)", b->left_count ? ", " : "", name, why);
    b->left_count++;
}

/* As a sentence; NULL: nothing. The caller frees it. */
static char *left_out(const struct bringing *b)
{
    if (!b->left_count)
        return NULL;
    return b->left_count > LEFT_OUT_MAX ? xasprintf("%s and %zu more", b->left_out.buf, b->left_count - LEFT_OUT_MAX)
                                        : xstrdup(b->left_out.buf);
}

static int bring_pattern(struct bringing *b, const char *given, struct err *err)
{
    CLEANUP(free) char *normal = globs_within(b->job->ws->root, given);
    CLEANUP(free) char *clean = normal ? globs_clean(normal) : NULL;
    if (!clean)
        return err_set(err, "path escapes workspace: %.300s", given);
    bool folder = leads_to_folder(b->job->ws->root, clean);
    CLEANUP(free) char *pattern = pattern_for(b->job->ws->root, clean, folder);
    struct glob *glob = glob_new(pattern, err);
    if (!glob)
        return -1;
    bool whole = false;
    CLEANUP(free) char *base = glob_base(glob, &whole);
    glob_free(glob);
    if (folder && b->several)
        base[parent_len(base)] = '\0';
    CLEANUP(collected) struct collected files = {0};
    if (collect_found(b->job->ws, pattern, &files, err))
        return -1;
    if (!files.count && files.skipped_count)
        return err_set(err, "cannot bring back %.300s (%.200s)", files.skipped[0].name, files.skipped[0].why);
    if (!files.count)
        return err_set(err, "no file of the workspace matches %.300s", given);
    for (size_t i = 0; i < files.skipped_count; i++)
        leave_out(b, files.skipped[i].name, files.skipped[i].why);
    for (size_t i = 0; i < files.count; i++) {
        const char *name = files.files[i].name;
        if (!whole && strcmp(name, LAYOUT_METADATA) == 0)
            continue;                                  /* skip the metadata of the workspace */
        if (!whole && !utf8_valid(name, strlen(name))) /* on its own the user can be asked about it, without an undo */
            leave_out(b, name, "its name is not UTF-8; bring it back in a separate call");
        else if (bring_file(b, &files.files[i], base, whole, err))
            return -1;
    }
    return 0;
}

/* Removes changes without effect. */
static void drop_same(struct change_set *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct change *change = &set->items[i];
        if (change->old.exists && strcmp(change->old.digest, change->new.digest) == 0)
            change_release(change);
        else
            set->items[kept++] = *change;
    }
    set->count = kept;
}

static int bring_all(struct bringing *b, const struct json *from, struct err *err)
{
    if (from->type == JSON_STRING)
        return bring_pattern(b, from->text, err);
    b->several = from->count > 1;
    json_each (item, from)
        if (bring_pattern(b, json_str(item, ""), err))
            return -1;
    return 0;
}

static void answer_unchanged(struct runtime_job *job, const struct bringing *b)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    CLEANUP(free) char *missing = left_out(b);
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_int(&w, "files", (int64_t)b->found);
    json_add_bool(&w, "unchanged", true);
    if (missing)
        json_add_str(&w, "left_out", missing);
    json_close(&w, '}');
    tool_reply_output(&job->reply, strbuf_detach(&out, NULL));
}

static void propose(struct runtime_job *job)
{
    struct bringing b = {.job = job,
                         .to = json_str(json_get(job->run->arguments, "to"), ""),
                         .set = change_set_new(),
                         .left_out = STRBUF_INIT};
    if (strcmp(b.to, ".") == 0 || strcmp(b.to, "./") == 0)
        b.to = "";
    job->failed = bring_all(&b, json_get(job->run->arguments, "from"), &job->err) < 0;
    if (!job->failed && b.same == b.found)
        answer_unchanged(job, &b);
    if (job->failed || b.same == b.found) {
        change_set_free(b.set);
    } else {
        drop_same(b.set);
        b.set->left_out = left_out(&b);
        b.set->left_count = b.left_count;
        tool_reply_propose(&job->reply, b.set);
    }
    strbuf_release(&b.left_out);
}

/* The user reads this before the question. */
static void proposed(struct runtime_job *job)
{
    const struct change_set *set = job->reply.changes;
    if (set && set->left_out) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        text_count(&text, (int64_t)set->left_count);
        strbuf_addf(&text, " left out: %s\n", set->left_out);
        tool_run_say(job->run, "progress", text.buf);
    }
    runtime_job_finish(job);
}

static void start_bring_back(struct tool_run *run)
{
    if (runtime_missing(run))
        return;
    struct runtime_job *job = xcalloc(1, sizeof(*job));
    *job = (struct runtime_job){.run = run, .act = propose, .then = proposed};
    run->state = job;
    runtime_job_start(job);
}

const struct tool tool_bring_back = {
    .spec =
        {
            .name = "bring_back",
            .description = "Propose files of the session's workspace as files of the project. The user reviews the "
                           "diff; nothing else that programs do there reaches the project.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", "file:{to}", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{"
                          "\"from\":{\"type\":[\"string\",\"array\"],\"minLength\":1,\"minItems\":1,\"maxItems\":100,"
                          "\"items\":{\"type\":\"string\",\"minLength\":1},"
                          "\"description\":\"paths, folders or globs in the workspace; with several, each folder keeps "
                          "its name\"},"
                          "\"to\":{\"type\":\"string\",\"description\":\"a file, or a folder that ends with /; "
                          "default: the project root\"}},"
                          "\"required\":[\"from\"],\"additionalProperties\":false}",
        },
    .start = start_bring_back,
};
