/* Creates the files that a case describes, and reads the results, with plain calls: the code under test opens files in
 * its own way. */

#include "workspace_rig.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/versions_memory.h"
#include "workspace/layout.h"
#include "workspace/metadata.h"
#include "workspace/versions.h"
#include "workspace/workspace.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ---- creating ---- */

const char *rig_temp_dir(struct vector *v)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = file_make_temp_dir(NULL, "keyturn-case-", &err);
    if (!path)
        BUG("%s", err.text);
    return arena_strdup(&v->arena, path);
}

void rig_write(struct vector *v, const char *folder, const char *path, const char *text, size_t len)
{
    struct err err = ERR_INIT;
    char *full = arena_printf(&v->arena, "%s/%s", folder, path);
    char *slash = strrchr(full, '/');
    *slash = '\0';
    if (file_mkdirs(full, 0755, &err) < 0)
        BUG("%s", err.text);
    *slash = '/';
    if (file_replace(full, text, len, 0644, &err) < 0)
        BUG("%s", err.text);
}

void rig_write_tree(struct vector *v, const char *folder, const struct json *tree)
{
    json_each (file, tree) {
        rig_write(v, folder, file->key, file->text, file->len);
    }
}

void rig_make_dirs(struct vector *v, const char *folder, const struct json *dirs)
{
    json_each (dir, dirs) {
        struct err err = ERR_INIT;
        if (file_mkdirs(arena_printf(&v->arena, "%s/%s", folder, dir->text), 0755, &err) < 0)
            BUG("%s", err.text);
    }
}

void rig_make_links(struct vector *v, const char *folder, const struct json *links)
{
    json_each (link, links) {
        char *path = arena_printf(&v->arena, "%s/%s", folder, link->key);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        if (file_mkdirs(path, 0755, NULL) < 0)
            BUG("cannot make %s", path);
        *slash = '/';
        if (symlink(vector_substitute(v, link->text), path) < 0)
            BUG("cannot link %s", path);
    }
}

void rig_set_modes(struct vector *v, const char *folder, const struct json *modes)
{
    json_each (mode, modes) {
        if (chmod(arena_printf(&v->arena, "%s/%s", folder, mode->key), (mode_t)strtoul(mode->text, NULL, 8)) < 0)
            BUG("cannot chmod %s", mode->key);
    }
}

/* {name: [content of version 0, of version 1, …]} */
static void save_artifacts(struct workspace_rig *rig, const struct json *artifacts)
{
    json_each (name, artifacts) {
        json_each (content, name) {
            struct err err = ERR_INIT;
            if (versions_save(rig->versions, name->key, content->text, content->len, NULL, NULL, &err) < 0)
                BUG("%s", err.text);
        }
    }
}

static void set_metadata(struct workspace_rig *rig)
{
    struct vector *v = rig->v;
    const char *path = arena_printf(&v->arena, "%s/%s", rig->ws->path, LAYOUT_METADATA);
    const struct json *file = in_get(v, "metadata_file");
    if (file && file->type == JSON_STRING)
        rig_write(v, rig->ws->path, LAYOUT_METADATA, file->text, file->len);
    else if (file && unlink(path) < 0)
        BUG("cannot remove %s", path);
    if (in_flag(v, "metadata_is_dir") && (unlink(path) < 0 || mkdir(path, 0755) < 0))
        BUG("cannot make %s", path);
}

void workspace_rig_init(struct workspace_rig *rig, struct vector *v)
{
    struct err err = ERR_INIT;
    *rig = (struct workspace_rig){.v = v, .folder = xstrdup(rig_temp_dir(v))};
    const char *outside = arena_printf(&v->arena, "%s/outside", rig->folder);
    const char *host = arena_printf(&v->arena, "%s/host", rig->folder);
    const char *hostfile = arena_printf(&v->arena, "%s/hostfile", rig->folder);
    if (mkdir(outside, 0755) < 0 || mkdir(host, 0755) < 0)
        BUG("cannot make %s", outside);
    rig_write(v, outside, "secret", "secret", strlen("secret"));
    vector_bind(v, "outside", outside);
    vector_bind(v, "hostdir", host);
    vector_bind(v, "hostfile", hostfile);
    rig_write_tree(v, host, in_get(v, "host"));
    const char *host_file = in_text(v, "host_file", NULL);
    if (host_file)
        rig_write(v, rig->folder, "hostfile", host_file, strlen(host_file));
    /* Files beside the workspace: one level above its root. */
    rig_write_tree(v, rig->folder, in_get(v, "outside"));
    rig->versions = in_is_null(v, "service") ? NULL : versions_in_memory();
    save_artifacts(rig, in_get(v, "artifacts"));
    struct workspace_options options = {.base = rig->folder, .versions = rig->versions};
    rig->ws = workspace_create(&options, "case", NULL, &err);
    if (!rig->ws)
        BUG("%s", err.text);
    vector_bind(v, "workspace", rig->ws->path);
    vector_bind(v, "root", rig->ws->path);
    rig_write_tree(v, rig->ws->path, in_get(v, "tree"));
    rig_make_dirs(v, rig->ws->path, in_get(v, "dirs"));
    rig_make_links(v, rig->ws->path, in_get(v, "symlinks"));
    rig_set_modes(v, rig->ws->path, in_get(v, "modes"));
    rig_set_modes(v, host, in_get(v, "host_modes"));
    set_metadata(rig);
}

void workspace_rig_release(struct workspace_rig *rig)
{
    struct err err = ERR_INIT;
    workspace_free(rig->ws);
    versions_free(rig->versions);
    if (file_remove_tree(rig->folder, &err) < 0)
        vector_fail(rig->v, "expected nothing left behind got: %s", err.text);
    free(rig->folder);
}

/* ---- results ---- */

const char *rig_mode(struct vector *v, const char *folder, const char *path)
{
    struct stat st;
    if (stat(arena_printf(&v->arena, "%s/%s", folder, path), &st) < 0)
        return NULL;
    return arena_printf(&v->arena, "%04o", st.st_mode & 07777);
}

void tell_error(struct vector *v, const struct err *err, bool failed)
{
    const struct json *want = wants(v, "error");
    wants(v, "note");
    if (want && want->type == JSON_STRING) {
        got_has(v, "error", failed ? err->text : "no error");
        return;
    }
    bool expected = want && want->type == JSON_TRUE;
    if (failed && !expected)
        vector_fail(v, "expected no error got %s", err->text);
    else if (!failed && expected)
        vector_fail(v, "expected an error got none");
}

void tell_files(struct vector *v, const char *folder)
{
    const struct json *files = wants(v, "files"); /* a list is about the collected files, not about the tree */
    json_each (file, files && files->type == JSON_OBJECT ? files : NULL) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        struct err err = ERR_INIT;
        if (file_read(arena_printf(&v->arena, "%s/%s", folder, file->key), &text, 0, &err) < 0)
            vector_fail(v, "expected %s got %s", file->key, err.text);
        else if (text.len != file->len || memcmp(text.buf, file->text, text.len) != 0)
            vector_fail(v, "expected %s to be %s got %s", file->key, file->text, text.buf);
    }
    json_each (path, wants(v, "absent")) {
        struct stat st;
        if (lstat(arena_printf(&v->arena, "%s/%s", folder, path->text), &st) == 0)
            vector_fail(v, "expected no %s got one", path->text);
    }
    json_each (mode, wants(v, "modes")) {
        const char *got = rig_mode(v, folder, mode->key);
        if (!got || strcmp(got, mode->text) != 0)
            vector_fail(v, "expected %s to have the mode %s got %s", mode->key, mode->text, got ? got : "no file");
    }
}

void tell_link(struct vector *v, const char *folder, const char *path)
{
    char target[PATH_MAX];
    ssize_t len = readlink(arena_printf(&v->arena, "%s/%s", folder, path), target, sizeof(target));
    got_bool(v, "is_symlink", len > 0);
    got_text(v, "link_target", len > 0 ? arena_memdup0(&v->arena, target, (size_t)len) : NULL);
}

static const struct json *last_of(const struct json *list)
{
    return list && list->count ? json_at(list, list->count - 1) : NULL;
}

void tell_tree(struct workspace_rig *rig, const char *last)
{
    struct vector *v = rig->v;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    tell_files(v, rig->ws->path);
    if (last) {
        tell_link(v, rig->ws->path, last);
        got_text(v, "file_mode", rig_mode(v, rig->ws->path, last));
        got_text(v, "mode", rig_mode(v, rig->ws->path, last));
    }
    const char *path = arena_printf(&v->arena, "%s/%s", rig->ws->path, LAYOUT_METADATA);
    const struct json *md = NULL;
    if (file_read(path, &text, 0, NULL) == 0)
        md = json_parse(&v->arena, arena_memdup0(&v->arena, text.buf, text.len), text.len, NULL);
    const struct json *inputs = json_get(md, "inputs"), *outputs = json_get(md, "outputs");
    got_int(v, "metadata_version", json_int(json_get(md, "version"), -1));
    got_int(v, "metadata_inputs", inputs ? inputs->count : 0);
    got_int(v, "metadata_outputs", outputs ? outputs->count : 0);
    const struct json *input = last_of(inputs), *output = last_of(outputs);
    got_part(v, "records", inputs ? arena_memdup0(&v->arena, inputs->src, inputs->src_len) : "[]");
    got_part(v, "record", input ? arena_memdup0(&v->arena, input->src, input->src_len) : "null");
    got_part(v, "metadata_output", output ? arena_memdup0(&v->arena, output->src, output->src_len) : "null");
}
