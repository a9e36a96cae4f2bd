/* The tools that move files into and out of the session's workspace: stage_input, collect_outputs, save_artifact,
 * load_artifact.
 *
 * Only files of the project, and of folders that the config file names, may be staged: an agent that could copy any
 * file into its workspace could read every key the user has. The kernel decides what lies beneath a folder, not the
 * spelling of the path. Files are copied, because a program could write through a link. */

#include "file_tools.h"
#include "artifact.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "output_limit.h"
#include "runtime.h"
#include "runtime_job.h"
#include "workspace/globs.h"
#include "workspace/inside.h"
#include "workspace/mime.h"
#include "workspace/stage.h"
#include "workspace/versions.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define CONTENT_WORTH 200 /* characters; with less room the content is not shown */
#define USUAL_OUTPUTS "out/**"

static const char *argument(const struct tool_run *run, const char *name)
{
    return json_str(json_get(run->arguments, name), "");
}

/* ---- stage_input ---- */

/* The real path beneath the folder. NULL without an error text if the path does not claim to be there. */
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
        err_set_errno(err, errno, "cannot resolve %s", path);
        return NULL;
    }
    return xmemdup0(real, (size_t)len);
}

/* The path of a file on this machine that may be staged. */
static char *allowed(const struct tool_run *run, const char *path, struct err *err)
{
    struct err own = ERR_INIT;
    char *real = real_beneath(run->env->root, path, &own);
    const char *const *more = runtime_said(run->env->runtime)->host;
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
        err_set(err,
                "cannot stage %.300s: it is outside the project and the folders in \"workspace.inputs\" of the user's "
                "config file",
                path);
    return NULL;
}

static bool begins_with(const char *text, const char *scheme)
{
    return strncmp(text, scheme, strlen(scheme)) == 0;
}

/* The source for stage_inputs: a file of this machine by its real path, or a long output by its artifact file. */
static char *find_source(const struct tool_run *run, const char *from, bool *host, struct err *err)
{
    const struct tool_env *env = run->env;
    struct artifact *output = env->artifacts && begins_with(from, ARTIFACT_SCHEME)
                                  ? artifact_store_find(env->artifacts, env->session, from + strlen(ARTIFACT_SCHEME))
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

static void stage(struct runtime_job *job)
{
    const char *from = argument(job->run, "from"), *mode = argument(job->run, "mode");
    bool host;
    CLEANUP(free) char *source = find_source(job->run, from, &host, &job->err);
    if (source && host && strcmp(mode, "link") == 0)
        err_set(&job->err, "cannot link files of the host, programs could write to them; use mode copy");
    if (begins_with(from, SKILL_SCHEME) && !from[strlen(SKILL_SCHEME) + strspn(from + strlen(SKILL_SCHEME), "/.")])
        err_set(&job->err, "unknown skill %.300s (" SKILL_SCHEME "name/path)", from);
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
    runtime_warn(&w, job);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void start_screen(struct tool_run *run)
{
    runtime_job_run(run, stage, true);
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
            .parameters = "{\"type\":\"object\",\"properties\":{"
                          "\"from\":{\"type\":\"string\",\"minLength\":1},"
                          "\"to\":{\"type\":\"string\",\"description\":\"path in the workspace, a folder if it ends "
                          "with /; default work/inputs/\"},"
                          "\"mode\":{\"type\":\"string\",\"enum\":[\"copy\",\"link\"],"
                          "\"description\":\"link: only within the workspace\"},"
                          "\"pin\":{\"type\":\"boolean\",\"description\":\"reuse the version of an artifact that was "
                          "staged before\"}},"
                          "\"required\":[\"from\"],\"additionalProperties\":false}",
        },
    .start = start_screen,
};

/* ---- collect_outputs ---- */

static void add_content(struct json_writer *w, const struct collected_file *file, size_t *room,
                        const struct tool_run *run)
{
    size_t before = w->out->len;
    if (!*file->mime) { /* not read, because no room was left */
        json_add_bool(w, "not_shown", true);
    } else if (!mime_is_text(file->mime)) {
        json_add_bool(w, "binary", true);
    } else if (*room < CONTENT_WORTH) {
        json_add_bool(w, "not_shown", true);
    } else {
        output_limit_add_text(w, "content", "", file->content, file->len, *room, run->env, run->tool->spec.name);
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
        runtime_collected(run->env->runtime, &(struct runtime_output){.name = file->name,
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

static void collect(struct runtime_job *job)
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
    runtime_job_run(run, collect, true);
}

/* A call that only lists files leaves nothing but a record in the workspace. */
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
                "List the files that programs left in the session's workspace (default globs: out/**) with name, type "
                "and size. `inline` adds their text; `save` stores them as artifacts that outlive the session.",
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
                "\"name_template\":{\"type\":\"string\",\"description\":\"prefix of the names of artifacts\"}},"
                "\"additionalProperties\":false}",
        },
    .effect = collect_effect,
    .start = start_collect,
};

/* ---- artifact tools ---- */

/* save_artifact, load_artifact: files by name and version that outlive the session (workspace/versions.h). Long
 * outputs are called artifacts too (artifact.h), and can be loaded in the same way. */

#define ARTIFACT_BYTES ((size_t)64 << 20) /* largest file that can be saved */

/* ---- save_artifact ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int read_file(const struct workspace *ws, const char *path, struct strbuf *bytes, struct err *err)
{
    CLEANUP(fd) int seen = inside_open(ws->root, path, O_PATH, NULL, err);
    struct stat st;
    if (seen < 0)
        return -1;
    if (fstat(seen, &st) < 0)
        return err_set_errno(err, errno, "cannot read %.300s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, "%.300s is %s, not a file", path, beneath_kind(st.st_mode));
    CLEANUP(fd) int fd = inside_reopen(seen);
    if (fd < 0 || strbuf_read(bytes, fd, ARTIFACT_BYTES) < 0)
        return errno == EFBIG ? err_set(err, "%.300s is larger than 64 MB, the limit of an artifact", path)
                              : err_set_errno(err, errno, "cannot read %.300s", path);
    return 0;
}

/* Saves a file and reports it like any other collected output. */
static int save_file(struct runtime_job *job, const char *path, const char *name, struct strbuf *bytes,
                     int64_t *version)
{
    struct workspace *ws = job->ws;
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_COLLECT);
    json_add_str(&span.attrs, SPAN_PATH, path);
    int status = read_file(ws, path, bytes, &own);
    if (status == 0)
        status = versions_save(runtime_versions(job->runtime), name, bytes->buf, bytes->len,
                               mime_sniff(bytes->buf, bytes->len), version, &own);
    json_add_int(&span.attrs, SPAN_COUNT, status == 0);
    return span_end(&span, status, &own, &job->err);
}

static void save(struct runtime_job *job)
{
    CLEANUP(free) char *normal = globs_within(job->ws->root, argument(job->run, "path"));
    const char *path = normal ? normal : "", *name = argument(job->run, "name");
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    int64_t version;
    name = *name ? name : base_name(path);
    job->failed = save_file(job, path, name, &bytes, &version) < 0;
    if (job->failed)
        return;
    CLEANUP(free) char *ref = xasprintf(ARTIFACT_SCHEME "%s@%lld", name, (long long)version);
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "name", name);
    json_add_int(&w, "version", version);
    json_add_str(&w, "ref", ref);
    json_add_str(&w, "mime", mime_sniff(bytes.buf, bytes.len));
    json_add_int(&w, "size", (int64_t)bytes.len);
    json_close(&w, '}');
    runtime_collected(
        job->runtime,
        &(struct runtime_output){.name = path, .saved_as = name, .size = (int64_t)bytes.len, .version = version});
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void start_save(struct tool_run *run)
{
    runtime_job_run(run, save, true);
}

const struct tool tool_save_artifact = {
    .spec =
        {
            .name = "save_artifact",
            .description = "Save a file of the session's workspace as the next version of an artifact, which outlives "
                           "the session.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", "artifacts", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"in the workspace\"},"
                "\"name\":{\"type\":\"string\",\"description\":\"of the artifact; default: the name of the file\"}},"
                "\"required\":[\"path\"],\"additionalProperties\":false}",
        },
    .start = start_save,
};

/* ---- load_artifact ---- */

/* A loaded artifact: a saved version, or a long output. */
struct loaded {
    char *name, *mime, *source; /* source: for stage_inputs */
    int64_t version;            /* VERSIONS_NEWEST: no version */
    struct strbuf bytes;
    struct artifact *output; /* NULL: it is a saved version */
};

static void loaded_cleanup(struct loaded *loaded)
{
    free(loaded->name);
    free(loaded->mime);
    free(loaded->source);
    strbuf_release(&loaded->bytes);
    artifact_free(loaded->output);
}

static int load_output(struct loaded *loaded, const struct tool_env *env, struct err *err)
{
    const struct artifact *output = loaded->output;
    if (!artifact_store_get(env->artifacts, env->session, output->id, &loaded->bytes))
        return err_set(err, "the output %s no longer exists", output->id);
    loaded->name = xstrdup(output->id);
    loaded->mime = xstrdup("text/plain; charset=utf-8");
    loaded->source = xasprintf(HOST_SCHEME "%s", output->path);
    return 0;
}

static int load_version(struct loaded *loaded, struct versions *versions, const char *ref, struct err *err)
{
    int64_t asked;
    if (versions_parse_ref(ref, &loaded->name, &asked, err) ||
        versions_load(versions, loaded->name, asked, &loaded->bytes, &loaded->mime, &loaded->version, err))
        return -1;
    loaded->source = xasprintf(ARTIFACT_SCHEME "%s@%lld", loaded->name, (long long)loaded->version);
    return 0;
}

static void write_loaded(struct runtime_job *job, const struct loaded *loaded, const char *to)
{
    const struct tool_run *run = job->run;
    const struct strbuf *bytes = &loaded->bytes;
    struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "name", loaded->name);
    if (loaded->version != VERSIONS_NEWEST)
        json_add_int(&w, "version", loaded->version);
    json_add_str(&w, "mime", loaded->mime);
    json_add_int(&w, "size", (int64_t)bytes->len);
    if (*to)
        json_add_str(&w, "to", to);
    else if (loaded->output) /* long, and not stored again */
        output_limit_add_cut(&w, "content", "", bytes->buf, bytes->len, LONG_TEXT_ROOM, bytes->len, loaded->output);
    else if (mime_is_text(loaded->mime))
        output_limit_add_text(&w, "content", "", bytes->buf, bytes->len, LONG_TEXT_ROOM, run->env,
                              run->tool->spec.name);
    else
        json_add_bool(&w, "binary", true);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void load(struct runtime_job *job)
{
    const struct tool_env *env = job->run->env;
    const char *ref = argument(job->run, "ref");
    CLEANUP(loaded) struct loaded loaded = {.version = VERSIONS_NEWEST, .bytes = STRBUF_INIT};
    ref += strncmp(ref, ARTIFACT_SCHEME, strlen(ARTIFACT_SCHEME)) == 0 ? strlen(ARTIFACT_SCHEME) : 0;
    loaded.output = env->artifacts ? artifact_store_find(env->artifacts, env->session, ref) : NULL;
    job->failed = (loaded.output ? load_output(&loaded, env, &job->err)
                                 : load_version(&loaded, runtime_versions(job->runtime), ref, &job->err)) < 0;
    if (job->failed)
        return;
    CLEANUP(free)
    char *to = *argument(job->run, "to") ? stage_target(job->ws, loaded.source, argument(job->run, "to")) : xstrdup("");
    struct stage_input input = {.from = loaded.source, .to = to, .strict = true};
    job->failed = *to && stage_inputs(job->ws, &input, 1, &job->err) < 0;
    if (!job->failed)
        write_loaded(job, &loaded, to);
}

static void start_load(struct tool_run *run)
{
    runtime_job_run(run, load, *argument(run, "to") != '\0');
}

static enum effect load_effect(const struct tool *tool, const struct tool_env *env, const char *call,
                               const struct json *arguments)
{
    (void)tool;
    (void)env;
    (void)call;
    return *json_str(json_get(arguments, "to"), "") ? EFFECT_LOCAL_WRITE : EFFECT_READ_ONLY;
}

const struct tool tool_load_artifact = {
    .spec =
        {
            .name = "load_artifact",
            .description = "Read an artifact that was saved, or an output that was too long for its answer "
                           "(artifact://art_...); with `to`, copy it into the session's workspace.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"artifact:{ref}", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"ref\":{\"type\":\"string\",\"minLength\":1,\"description\":\"name, name@version, or artifact://…\"},"
                "\"to\":{\"type\":\"string\",\"description\":\"path in the workspace, a folder if it ends with /\"}},"
                "\"required\":[\"ref\"],\"additionalProperties\":false}",
        },
    .effect = load_effect,
    .start = start_load,
};
