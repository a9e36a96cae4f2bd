/* save_artifact, load_artifact: files by name and version that outlive the session (workspace/versions.h). What an
 * answer was too short for is called an artifact too (artifact.h), and can be loaded in the same way. */

#include "artifact.h"
#include "base/beneath.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "long_text.h"
#include "place.h"
#include "place_job.h"
#include "workspace/globs.h"
#include "workspace/inside.h"
#include "workspace/mime.h"
#include "workspace/stage.h"
#include "workspace/versions.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define ARTIFACT_BYTES ((size_t)64 << 20) /* of one that is saved */

static const char *argument(const struct tool_run *run, const char *name)
{
    return json_str(json_get(run->arguments, name), "");
}

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
        return errno == EFBIG ? err_set(err, "%.300s is larger than an artifact may be (64 MiB)", path)
                              : err_set_errno(err, errno, "cannot read %.300s", path);
    return 0;
}

/* What is saved has left the workspace, which is told as of any other collection. */
static int save_file(struct place_job *job, const char *path, const char *name, struct strbuf *bytes, int64_t *version)
{
    struct workspace *ws = job->ws;
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_COLLECT);
    json_add_str(&span.attrs, SPAN_PATH, path);
    int status = read_file(ws, path, bytes, &own);
    if (status == 0)
        status = versions_save(place_versions(job->place), name, bytes->buf, bytes->len,
                               mime_sniff(bytes->buf, bytes->len), version, &own);
    json_add_int(&span.attrs, SPAN_COUNT, status == 0);
    return span_end(&span, status, &own, &job->err);
}

static void save(struct place_job *job)
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
    place_collected(job->place, &(struct place_output){
                                    .name = path, .saved_as = name, .size = (int64_t)bytes.len, .version = version});
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void start_save(struct tool_run *run)
{
    place_job_run(run, save, true);
}

const struct tool tool_save_artifact = {
    .spec =
        {
            .name = "save_artifact",
            .description = "Keep a file of the session's workspace as the next version of an artifact, which outlives "
                           "the session.",
            .effect = EFFECT_LOCAL_WRITE,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"workspace", "artifacts", NULL},
            .parameters =
                "{\"type\":\"object\",\"properties\":{"
                "\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"in the workspace\"},"
                "\"name\":{\"type\":\"string\",\"description\":\"of the artifact; the file's if not given\"}},"
                "\"required\":[\"path\"],\"additionalProperties\":false}",
        },
    .start = start_save,
};

/* ---- load_artifact ---- */

/* An artifact that is loaded: a version that was saved, or an output that was too long for its answer. */
struct loaded {
    char *name, *mime, *source; /* source: for stage_inputs */
    int64_t version;            /* VERSIONS_NEWEST: it has none */
    struct strbuf bytes;
    struct artifact *output; /* NULL: it is a version */
};

static void loaded_cleanup(struct loaded *loaded)
{
    free(loaded->name);
    free(loaded->mime);
    free(loaded->source);
    strbuf_release(&loaded->bytes);
    artifact_free(loaded->output);
}

static int load_output(struct loaded *loaded, struct artifact_store *store, struct err *err)
{
    const struct artifact *output = loaded->output;
    if (!artifact_store_get(store, output->id, &loaded->bytes))
        return err_set(err, "the output %s is not there any more", output->id);
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

static void write_loaded(struct place_job *job, const struct loaded *loaded, const char *to)
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
    else if (loaded->output) /* which is long, and is not kept again */
        long_text_add_cut(&w, "content", "", bytes->buf, bytes->len, LONG_TEXT_ROOM, bytes->len, loaded->output);
    else if (mime_is_text(loaded->mime))
        long_text_add(&w, "content", "", bytes->buf, bytes->len, LONG_TEXT_ROOM, run->env, run->tool->spec.name);
    else
        json_add_bool(&w, "binary", true);
    json_close(&w, '}');
    tool_reply_page(&job->reply, strbuf_detach(&out, NULL));
}

static void load(struct place_job *job)
{
    const struct tool_env *env = job->run->env;
    const char *ref = argument(job->run, "ref");
    CLEANUP(loaded) struct loaded loaded = {.version = VERSIONS_NEWEST, .bytes = STRBUF_INIT};
    ref += strncmp(ref, ARTIFACT_SCHEME, strlen(ARTIFACT_SCHEME)) == 0 ? strlen(ARTIFACT_SCHEME) : 0;
    loaded.output = env->artifacts ? artifact_store_find(env->artifacts, ref) : NULL;
    job->failed = (loaded.output ? load_output(&loaded, env->artifacts, &job->err)
                                 : load_version(&loaded, place_versions(job->place), ref, &job->err)) < 0;
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
    place_job_run(run, load, *argument(run, "to") != '\0');
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
                           "(artifact://art_...); with `to` put it into the session's workspace.",
            .effect = EFFECT_READ_ONLY,
            .idempotent = false,
            .real_time = true,
            .resource_keys = (const char *const[]){"artifact:{ref}", NULL},
            .parameters = "{\"type\":\"object\",\"properties\":{"
                          "\"ref\":{\"type\":\"string\",\"minLength\":1,\"description\":\"name, name@version, or as an "
                          "answer gave it\"},"
                          "\"to\":{\"type\":\"string\",\"description\":\"in the workspace, a folder to put it in with "
                          "/ behind it\"}},"
                          "\"required\":[\"ref\"],\"additionalProperties\":false}",
        },
    .effect = load_effect,
    .start = start_load,
};
