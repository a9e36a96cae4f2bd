/* What goes into the session's workspace and what comes out of it again: stage_input, collect_outputs.
 *
 * Of this machine's files only those of the project may be staged, and of folders that the config file names: an agent
 * that may copy anything where its programs run could read any key that the user has. The kernel decides what lies
 * beneath a folder, not the path's letters; files are copied, for a program could write through a link. */

#include "stage_tools.h"
#include "artifact.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "long_text.h"
#include "place.h"
#include "place_job.h"
#include "workspace/mime.h"
#include "workspace/stage.h"
#include "workspace/versions.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define CONTENT_WORTH 200 /* characters; with less room no content is shown */
#define USUAL_OUTPUTS "out/**"

static const char *argument(const struct tool_run *run, const char *name)
{
    return json_str(json_get(run->arguments, name), "");
}

/* ---- stage_input ---- */

/* The real path beneath the folder; NULL and no error text when it does not even claim to be there. */
static char *real_beneath(const struct beneath *root, const char *path, struct err *err)
{
    CLEANUP(free) char *clean = beneath_clean(root, path, NULL);
    char real[PATH_MAX], link[64];
    if (!clean)
        return NULL;
    CLEANUP(fd) int fd = beneath_openat(root, clean, O_PATH, 0, err);
    if (fd < 0)
        return NULL;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, real, sizeof(real) - 1);
    if (len < 0) {
        err_set_errno(err, errno, "cannot tell where %s is", path);
        return NULL;
    }
    return xmemdup0(real, (size_t)len);
}

/* Where a file of this machine is that may be staged. */
static char *allowed(const struct tool_run *run, const char *path, struct err *err)
{
    struct err own = ERR_INIT;
    char *real = real_beneath(run->env->root, path, &own);
    const char *const *more = place_said(run->env->place)->host;
    for (; more && *more && !real && !own.text[0]; more++) {
        struct beneath *folder = beneath_open(*more, NULL);
        if (folder)
            real = real_beneath(folder, path, &own);
        beneath_close(folder);
    }
    if (real)
        return real;
    if (own.text[0])
        err_set(err, "%s", own.text);
    else
        err_set(
            err,
            "%.300s may not be staged: only files of the project may, and of folders that \"workspace.inputs\" in the "
            "user's config file names",
            path);
    return NULL;
}

static bool begins_with(const char *text, const char *scheme)
{
    return strncmp(text, scheme, strlen(scheme)) == 0;
}

/* The source as stage_inputs knows it: a file of this machine by where it really is, an output that was too long for
 * its answer by its file. */
static char *find_source(const struct tool_run *run, const char *from, bool *host, struct err *err)
{
    const struct tool_env *env = run->env;
    struct artifact *output = env->artifacts && begins_with(from, ARTIFACT_SCHEME)
                                  ? artifact_store_find(env->artifacts, from + strlen(ARTIFACT_SCHEME))
                                  : NULL;
    CLEANUP(free) char *path = output ? xstrdup(output->path) : NULL;
    artifact_free(output);
    *host = path || begins_with(from, HOST_SCHEME) || !strstr(from, "://");
    if (*host && !path)
        path = allowed(run, begins_with(from, HOST_SCHEME) ? from + strlen(HOST_SCHEME) : from, err);
    if (*host)
        return path ? xasprintf(HOST_SCHEME "%s", path) : NULL;
    return xstrdup(from);
}

static void stage(struct place_job *job)
{
    const char *from = argument(job->run, "from"), *mode = argument(job->run, "mode");
    bool host;
    CLEANUP(free) char *source = find_source(job->run, from, &host, &job->err);
    if (source && host && strcmp(mode, "link") == 0)
        err_set(&job->err, "files of this machine are copied: through a link, programs could write to them");
    if (begins_with(from, SKILL_SCHEME) && !from[strlen(SKILL_SCHEME) + strspn(from + strlen(SKILL_SCHEME), "/.")])
        err_set(&job->err, "%.300s names no skill (" SKILL_SCHEME "name/path)", from);
    job->failed = job->err.text[0] != '\0';
    if (job->failed)
        return;
    CLEANUP(free) char *to = stage_target(job->ws, source, argument(job->run, "to"));
    struct stage_input input = {.from = source,
                                .to = to,
                                .mode = mode,
                                .pin = json_bool(json_get(job->run->arguments, "pin"), false),
                                .strict = true};
    job->failed = stage_inputs(job->ws, &input, 1, &job->err) < 0;
    if (job->failed)
        return;
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "from", from);
    json_add_str(&w, "to", to);
    json_add_bool(&w, "staged", true);
    place_warn(&w, job);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void start_stage(struct tool_run *run)
{
    place_job_run(run, stage, true);
}

const struct tool tool_stage_input = {
    .spec =
        {
            .name = "stage_input",
            .description =
                "Copy a file or folder into the session's workspace, for programs there: of the project (a path, or "
                "host:///absolute), of saved artifacts (artifact://name[@version]) or a long output "
                "(artifact://art_...), of the workspace itself "
                "(workspace://path) or of a skill (skill://name/path).",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"from\":{\"type\":\"string\",\"minLength\":1},"
                "\"to\":{\"type\":\"string\",\"description\":\"in the workspace, a folder to put it in with / behind "
                "it; "
                "work/inputs/ if not given\"},"
                "\"mode\":{\"type\":\"string\",\"enum\":[\"copy\",\"link\"],"
                "\"description\":\"link: only within the workspace\"},"
                "\"pin\":{\"type\":\"boolean\",\"description\":\"the version of an artifact that was there before\"}},"
                "\"required\":[\"from\"],\"additionalProperties\":false}",
        },
    .start = start_stage,
};

/* ---- collect_outputs ---- */

static void add_content(struct json_writer *w, const struct collected_file *file, size_t *room,
                        const struct tool_run *run)
{
    size_t before = w->out->len;
    if (!*file->mime) { /* nothing of it was read: no room was left */
        json_add_bool(w, "not_shown", true);
    } else if (!mime_is_text(file->mime)) {
        json_add_bool(w, "binary", true);
    } else if (*room < CONTENT_WORTH) {
        json_add_bool(w, "not_shown", true);
    } else {
        long_text_add(w, "content", "", file->content, file->len, *room, run->env, run->tool->spec.name);
        *room -= w->out->len - before < *room ? w->out->len - before : *room;
    }
}

void collected_write(struct json_writer *w, const struct collected *files, bool contents, size_t room,
                     const struct tool_run *run)
{
    json_open(w, "files", '[');
    for (size_t i = 0; i < files->count; i++) {
        const struct collected_file *file = &files->files[i];
        json_open(w, NULL, '{');
        json_add_str(w, "name", file->name);
        if (*file->mime)
            json_add_str(w, "mime", file->mime);
        json_add_int(w, "size", file->size);
        if (file->truncated)
            json_add_bool(w, "cut", true);
        if (file->saved_as) {
            CLEANUP(free) char *ref = xasprintf(ARTIFACT_SCHEME "%s@%lld", file->saved_as, (long long)file->version);
            json_add_str(w, "saved", ref);
        }
        if (contents)
            add_content(w, file, &room, run);
        json_close(w, '}');
        place_collected(run->env->place, &(struct place_output){.name = file->name,
                                                                .saved_as = file->saved_as,
                                                                .size = file->size,
                                                                .version = file->version,
                                                                .truncated = file->truncated});
    }
    json_close(w, ']');
    json_add_bool(w, "limits_hit", files->limits_hit);
    if (!files->skipped_count)
        return;
    json_open(w, "skipped", '[');
    for (size_t i = 0; i < files->skipped_count; i++) {
        json_open(w, NULL, '{');
        json_add_str(w, "name", files->skipped[i].name);
        json_add_str(w, "why", files->skipped[i].why);
        json_close(w, '}');
    }
    json_close(w, ']');
}

void output_spec_usual(struct output_spec *spec)
{
    spec->lenient = true;
    if (spec->glob_count)
        return;
    spec->globs = xcalloc(1, sizeof(*spec->globs));
    spec->globs[0] = xstrdup(USUAL_OUTPUTS);
    spec->glob_count = 1;
}

static void collect(struct place_job *job)
{
    CLEANUP(output_spec) struct output_spec spec = {0};
    CLEANUP(collected) struct collected files = {0};
    if (output_spec_read(&spec, job->run->arguments, &job->err)) {
        job->failed = true;
        return;
    }
    output_spec_usual(&spec);
    if (collect_outputs(job->ws, &spec, &files, &job->err) && job->err.code != COLLECT_PARTIAL) {
        job->failed = true;
        return;
    }
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    collected_write(&w, &files, spec.inline_content, LONG_TEXT_ROOM, job->run);
    if (job->err.code == COLLECT_PARTIAL)
        json_add_str(&w, "warning", job->err.text);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void start_collect(struct tool_run *run)
{
    place_job_run(run, collect, true);
}

/* One that only looks leaves nothing but a record in the workspace. */
static enum effect collect_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                                  const struct json *arguments)
{
    (void)tool;
    (void)env;
    (void)call;
    return json_bool(json_get(arguments, "save"), false) ? EFFECT_LOCAL_WRITE : EFFECT_READ_ONLY;
}

const struct tool tool_collect_outputs = {
    .spec =
        {
            .name = "collect_outputs",
            .description =
                "See which files programs left in the session's workspace (out/** if no globs are given): name, type, "
                "size, with `inline` their text, with `save` kept as artifacts that outlive the session.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"globs\":{\"type\":\"array\",\"maxItems\":100,\"items\":{\"type\":\"string\",\"minLength\":1}},"
                "\"max_files\":{\"type\":\"integer\"},\"max_file_bytes\":{\"type\":\"integer\"},"
                "\"max_total_bytes\":{\"type\":\"integer\"},"
                "\"inline\":{\"type\":\"boolean\"},\"save\":{\"type\":\"boolean\"},"
                "\"name_template\":{\"type\":\"string\",\"description\":\"stands before the names of artifacts\"}},"
                "\"additionalProperties\":false}",
        },
    .effect = collect_effect,
    .start = start_collect,
};
