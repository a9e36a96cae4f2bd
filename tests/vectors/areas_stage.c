/* Runs stage.*, put.files and collect.*: files that go into a workspace, and files collected from it. */

#include "areas.h"
#include "base/mem.h"
#include "base/walk.h"
#include "vector.h"
#include "workspace/collect.h"
#include "workspace/stage.h"
#include "workspace/versions.h"
#include "workspace/workspace.h"
#include "workspace_rig.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define SPECS_MAX 64

void area_stage_default_to(struct vector *v)
{
    CLEANUP(free) char *to = stage_default_to(in_text(v, "from", ""));
    got_text(v, "to", to);
}

static const char *text_of(struct vector *v, const struct json *object, const char *name)
{
    const char *text = json_str(json_get(object, name), NULL);
    return text ? vector_substitute(v, text) : NULL;
}

static struct stage_input read_input(struct vector *v, const struct json *spec)
{
    in_only(v, spec, "specs", (const char *const[]){"from", "to", "mode", "pin", NULL});
    return (struct stage_input){.from = text_of(v, spec, "from"),
                                .to = text_of(v, spec, "to"),
                                .mode = text_of(v, spec, "mode"),
                                .pin = json_bool(json_get(spec, "pin"), false)};
}

/* "stage [pin=true] [mode=link] to PATH" stages the case's artifact, "save TEXT" saves its next version. */
static bool take_step(struct workspace_rig *rig, const char *artifact, const char *step, struct err *err)
{
    struct vector *v = rig->v;
    const char *to = strstr(step, " to ");
    if (strncmp(step, "save ", 5) == 0)
        return versions_save(rig->versions, artifact, step + 5, strlen(step + 5), NULL, NULL, err) == 0;
    if (strncmp(step, "stage", 5) != 0 || !to) {
        vector_fail(v, "expected a step the runner understands got %s", step);
        return true;
    }
    struct stage_input input = {.from = arena_printf(&v->arena, "artifact://%s", artifact),
                                .to = arena_strdup(&v->arena, to + 4),
                                .mode = strstr(step, "mode=link") ? "link" : NULL,
                                .pin = strstr(step, "pin=true")};
    return stage_inputs(rig->ws, &input, 1, err) == 0;
}

void area_stage_inputs(struct vector *v)
{
    struct workspace_rig rig;
    struct stage_input inputs[SPECS_MAX];
    size_t count = 0;
    struct err err = ERR_INIT;
    bool failed = false;
    workspace_rig_init(&rig, v);
    json_each (spec, in_get(v, "specs")) {
        if (count < SPECS_MAX)
            inputs[count++] = read_input(v, spec);
    }
    const struct json *steps = in_get(v, "steps"), *artifacts = in_get(v, "artifacts");
    json_each (step, steps) {
        if (!failed)
            failed = !take_step(&rig, artifacts && artifacts->child ? artifacts->child->key : "", step->text, &err);
    }
    if (!steps)
        failed = stage_inputs(rig.ws, inputs, count, &err) < 0;
    tell_error(v, &err, failed);
    CLEANUP(free) char *otherwise = count ? stage_default_to(inputs[count - 1].from) : NULL;
    tell_tree(&rig, count && inputs[count - 1].to ? inputs[count - 1].to : otherwise);
    workspace_rig_release(&rig);
}

void area_put_files(struct vector *v)
{
    struct workspace_rig rig;
    struct stage_file files[SPECS_MAX];
    size_t count = 0;
    struct err err = ERR_INIT;
    workspace_rig_init(&rig, v);
    json_each (file, in_get(v, "files")) {
        const struct json *content = json_get(file, "content"), *mode = json_get(file, "mode");
        in_only(v, file, "files", (const char *const[]){"path", "content", "mode", NULL});
        if (count == SPECS_MAX)
            break;
        files[count++] =
            (struct stage_file){.path = text_of(v, file, "path"),
                                .bytes = content ? content->text : "",
                                .len = content ? content->len : 0,
                                .mode = mode && mode->type == JSON_STRING ? (mode_t)strtoul(mode->text, NULL, 8)
                                                                          : (mode_t)json_int(mode, 0)};
    }
    bool failed = stage_files(rig.ws, files, count, &err) < 0;
    tell_error(v, &err, failed);
    tell_tree(&rig, count ? files[count - 1].path : NULL);
    workspace_rig_release(&rig);
}

static enum walk_next gather_write_bits(void *user, const struct walk_entry *entry)
{
    struct stat st;
    if (fstatat(entry->dir_fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        *(mode_t *)user |= st.st_mode & 0222;
    return WALK_CONTINUE;
}

static const struct vector_field stage_fields[] = {
    FIELD("read_only", struct stage_options, read_only),
    FIELD("allow_mount", struct stage_options, allow_mount),
};

void area_stage_directory(struct vector *v)
{
    struct workspace_rig rig;
    struct err err = ERR_INIT;
    struct stat st;
    mode_t bits = 0;
    bool mounted;
    workspace_rig_init(&rig, v);
    struct stage_options options = {0};
    vector_fill(v, stage_fields, &options);
    const char *to = in_text(v, "to", "work/staged");
    bool failed =
        stage_directory(rig.ws, in_text(v, "src", vector_substitute(v, "<hostdir>")), to, &options, &mounted, &err) < 0;
    tell_error(v, &err, failed);
    const char *path = arena_printf(&v->arena, "%s/%s", rig.ws->path, to);
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct walk_visitor visitor = {.entry = gather_write_bits};
    struct walk_options any = {.order = WALK_ANY};
    if (fd >= 0 && fstat(fd, &st) == 0 && walk_tree(fd, "", &any, &visitor, &bits, &err) == 0)
        bits |= st.st_mode & 0222;
    got_int(v, "write_bits", bits);
    got_bool(v, "mount_used", mounted);
    tell_tree(&rig, to);
    workspace_rig_release(&rig);
}

/* ---- collecting ---- */

static void add_file(struct json_writer *w, const struct collected_file *file)
{
    json_open(w, NULL, '{');
    json_add_str(w, "name", file->name);
    json_add_strn(w, "content", file->content, file->len);
    json_add_str(w, "mime", file->mime);
    json_add_int(w, "size_bytes", file->size);
    json_add_bool(w, "truncated", file->truncated);
    json_add_str(w, "saved_as", file->saved_as ? file->saved_as : "");
    json_add_int(w, "version", file->version);
    json_close(w, '}');
}

static const struct vector_field file_fields[] = {
    FIELD("content_len", struct collected_file, len),
    FIELD("size_bytes", struct collected_file, size),
    FIELD("truncated", struct collected_file, truncated),
    FIELD("mime", struct collected_file, mime),
};

static void tell_collected(struct vector *v, const struct collected *out)
{
    CLEANUP(strbuf) struct strbuf json = STRBUF_INIT;
    struct json_writer w = json_begin(&json);
    const char **names = arena_calloc(&v->arena, out->count + 1, sizeof(*names));
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < out->count; i++) {
        names[i] = out->files[i].name;
        add_file(&w, &out->files[i]);
    }
    json_close(&w, ']');
    got_json(v, "names", vector_list(v, names, out->count));
    got_int(v, "count", (int64_t)out->count);
    got_bool(v, "limits_hit", out->limits_hit);
    got_part(v, "files", json.buf);
    if (out->count) /* of the first file, for cases with one file */
        vector_compare(v, file_fields, &out->files[0]);
}

void area_collect_files(struct vector *v)
{
    struct workspace_rig rig;
    struct err err = ERR_INIT;
    workspace_rig_init(&rig, v);
    const struct json *patterns = in_get(v, "patterns");
    const char **texts = arena_calloc(&v->arena, (patterns ? patterns->count : 0) + 1, sizeof(*texts));
    size_t count = 0;
    json_each (pattern, patterns) {
        texts[count++] = vector_substitute(v, pattern->text);
    }
    CLEANUP(collected) struct collected out;
    bool failed = collect_files(rig.ws, texts, count, &out, &err) < 0;
    tell_error(v, &err, failed);
    tell_collected(v, &out);
    tell_tree(&rig, NULL);
    workspace_rig_release(&rig);
}

/* saved{artifact: content}: the newest version of each. */
static void tell_saved(struct workspace_rig *rig)
{
    struct vector *v = rig->v;
    json_each (want, wants(v, "saved")) {
        CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
        struct err err = ERR_INIT;
        if (versions_load(rig->versions, want->key, VERSIONS_NEWEST, &content, NULL, NULL, &err) < 0)
            vector_fail(v, "expected an artifact %s got %s", want->key, err.text);
        else if (content.len != want->len || memcmp(content.buf, want->text, want->len) != 0)
            vector_fail(v, "expected the artifact %s to be %s got %s", want->key, want->text, content.buf);
    }
}

static void tell_limits(struct vector *v, const struct output_spec *spec)
{
    CLEANUP(strbuf) struct strbuf json = STRBUF_INIT;
    struct json_writer w = json_begin(&json);
    struct output_spec limits = output_spec_effective(spec);
    json_open(&w, NULL, '{');
    json_add_int(&w, "max_files", limits.max_files);
    json_add_int(&w, "max_file_bytes", limits.max_file_bytes);
    json_add_int(&w, "max_total_bytes", limits.max_total_bytes);
    json_close(&w, '}');
    got_part(v, "effective", json.buf);
}

void area_collect_outputs(struct vector *v)
{
    struct workspace_rig rig;
    struct err err = ERR_INIT, ignored = ERR_INIT;
    CLEANUP(output_spec) struct output_spec spec;
    workspace_rig_init(&rig, v);
    const struct json *given = in_get(v, "spec");
    if (!given || output_spec_read(&spec, given, &err) < 0)
        BUG("a case without a spec: %s", err.text);
    CLEANUP(collected) struct collected out;
    bool failed = collect_outputs(rig.ws, &spec, &out, &err) < 0;
    tell_error(v, &err, failed);
    tell_collected(v, &out);
    tell_limits(v, &spec);
    tell_saved(&rig);
    tell_tree(&rig, NULL);
    if (wants(v, "second_run_version")) {
        CLEANUP(collected) struct collected again;
        if (collect_outputs(rig.ws, &spec, &again, &ignored) < 0 || !again.count)
            vector_fail(v, "expected a second collection got %s", ignored.text);
        else
            got_int(v, "second_run_version", again.files[0].version);
    }
    workspace_rig_release(&rig);
}
