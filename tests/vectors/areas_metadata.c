/* Runs layout.ensure and metadata.*: the four folders and metadata.json. */

#include "areas.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/shortcuts.h"
#include "vector.h"
#include "workspace/layout.h"
#include "workspace/metadata.h"
#include "workspace_rig.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static int is_shown(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static bool is_folder(struct vector *v, const char *top, const char *name)
{
    struct stat st;
    return stat(arena_printf(&v->arena, "%s/%s", top, name), &st) == 0 && S_ISDIR(st.st_mode);
}

/* The names in the folder: its subfolders, sorted, and the number of temporaries left. */
static void tell_names(struct vector *v, const char *top)
{
    struct dirent **entries = NULL;
    int found = scandir(top, &entries, is_shown, alphasort);
    const char **dirs = arena_calloc(&v->arena, (size_t)(found > 0 ? found : 0) + 1, sizeof(*dirs));
    size_t count = 0, temps = 0;
    for (int i = 0; i < found; i++) {
        temps += metadata_is_temp(entries[i]->d_name);
        if (is_folder(v, top, entries[i]->d_name))
            dirs[count++] = arena_strdup(&v->arena, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    got_json(v, "dirs", vector_list(v, dirs, count));
    got_int(v, "temp_files", (int64_t)temps);
}

static const char *read_metadata(struct vector *v, const char *top)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (file_read(arena_printf(&v->arena, "%s/%s", top, LAYOUT_METADATA), &text, 0, NULL) < 0)
        return NULL;
    return arena_memdup0(&v->arena, text.buf, text.len);
}

static void remove_top(struct vector *v, const char *top)
{
    if (file_remove_tree(top, NULL) < 0)
        vector_fail(v, "expected nothing left behind");
}

void area_layout_ensure(struct vector *v)
{
    const char *base = rig_temp_dir(v);
    const char *top = in_bool(v, "root_exists", true) ? base : arena_printf(&v->arena, "%s/new/root", base);
    const struct json *metadata = in_get(v, "metadata_before");
    const char *file = in_text(v, "file_at", NULL);
    char *paths[LAYOUT_DIRS] = {NULL};
    struct err err = ERR_INIT;
    const struct json *text = in_get(v, "metadata_file");
    vector_bind(v, "root", top);
    vector_bind(v, "workspace", top);
    if (metadata)
        rig_write(v, top, LAYOUT_METADATA, metadata->src, metadata->src_len);
    if (text && text->type == JSON_STRING)
        rig_write(v, top, LAYOUT_METADATA, text->text, text->len);
    if (file)
        rig_write(v, top, file, "a file", 6);
    rig_make_dirs(v, top, in_get(v, "dirs"));
    rig_write_tree(v, top, in_get(v, "tree"));
    for (int64_t calls = in_int(v, "calls", 1); calls > 1; calls--)
        if (layout_ensure(top, clock_system(), NULL, &err) < 0)
            vector_fail(v, "expected it to be made got %s", err.text);
    const char *before = read_metadata(v, top);
    bool failed = layout_ensure(top, clock_system(), paths, &err) < 0;
    tell_error(v, &err, failed);
    tell_names(v, top);
    const char *after = read_metadata(v, top);
    got_bool(v, "metadata_unchanged", before && after && strcmp(before, after) == 0);
    got_part(v, "metadata", after ? after : "null");
    got_text(v, "metadata_mode", rig_mode(v, top, LAYOUT_METADATA));
    if (wants(v, "dir_mode"))
        for (size_t i = 0; i < LAYOUT_DIRS; i++)
            got_text(v, "dir_mode", rig_mode(v, top, layout_rows[i].name));
    CLEANUP(strbuf) struct strbuf json = STRBUF_INIT;
    struct json_writer w = json_begin(&json);
    json_open(&w, NULL, '{');
    for (size_t i = 0; i < LAYOUT_DIRS; i++) {
        if (paths[i])
            json_add_str(&w, layout_rows[i].name, paths[i]);
        free(paths[i]);
    }
    json_close(&w, '}');
    got_part(v, "paths", json.buf);
    tell_files(v, top);
    remove_top(v, base);
}

/* Opens the folder of a case and writes the metadata that the case starts with. */
static struct beneath *open_root(struct vector *v, const char *top)
{
    const struct json *file = in_get(v, "metadata_file");
    struct err err = ERR_INIT;
    if (file && file->type == JSON_STRING)
        rig_write(v, top, LAYOUT_METADATA, file->text, file->len);
    if (in_flag(v, "metadata_is_dir") && mkdir(arena_printf(&v->arena, "%s/%s", top, LAYOUT_METADATA), 0755) < 0)
        BUG("cannot make a folder");
    struct beneath *root = beneath_open(top, &err);
    if (!root)
        BUG("%s", err.text);
    return root;
}

void area_metadata_load(struct vector *v)
{
    const char *top = rig_temp_dir(v);
    struct beneath *root = open_root(v, top);
    CLEANUP(metadata) struct metadata md;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    bool failed = metadata_load(root, clock_system(), &md, &err) < 0;
    tell_error(v, &err, failed);
    if (!failed) {
        metadata_write(&md, &text);
        const struct json *got = vector_parse(v, text.buf);
        got_value(v, "inputs", json_get(got, "inputs") ? json_get(got, "inputs") : vector_parse(v, "[]"));
        got_value(v, "outputs", json_get(got, "outputs") ? json_get(got, "outputs") : vector_parse(v, "[]"));
        got_places(v, "", got);
    }
    beneath_close(root);
    remove_top(v, top);
}

/* ---- metadata.save ---- */

struct writer {
    const struct beneath *root;
    size_t number;
    bool append; /* one input under the lock, instead of a save */
    bool failed;
    struct err err;
};

static void add_input(struct metadata *md, void *user)
{
    const struct writer *writer = user;
    char from[64];
    snprintf(from, sizeof(from), "host:///in/%zu", writer->number);
    metadata_add_input(md, &(struct metadata_input){
                               .from = from, .to = "work/x", .ts = md->updated_at, .version = METADATA_NO_VERSION});
}

static void *write_one(void *user)
{
    struct writer *writer = user;
    if (writer->append) {
        writer->failed = metadata_update(writer->root, clock_system(), add_input, writer, &writer->err) < 0;
        return NULL;
    }
    CLEANUP(metadata) struct metadata md;
    metadata_init(&md, clock_system());
    add_input(&md, writer);
    writer->failed = metadata_save(writer->root, clock_system(), &md, &writer->err) < 0;
    return NULL;
}

/* All at the same time. */
static void write_at_once(struct vector *v, const struct beneath *root, size_t count, bool append)
{
    pthread_t *threads = arena_calloc(&v->arena, count, sizeof(*threads));
    struct writer *writers = arena_calloc(&v->arena, count, sizeof(*writers));
    for (size_t i = 0; i < count; i++) {
        writers[i] = (struct writer){.root = root, .number = i, .append = append};
        if (pthread_create(&threads[i], NULL, write_one, &writers[i]) != 0)
            BUG("no thread");
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        if (writers[i].failed)
            vector_fail(v, "expected every writer to succeed got %s", writers[i].err.text);
    }
}

/* Saves the metadata of the case, or defaults, once or twice. */
static void save_plainly(struct vector *v, const struct beneath *root)
{
    const struct json *given = in_get(v, "metadata");
    bool twice = in_flag(v, "save_twice");
    CLEANUP(metadata) struct metadata md, first, second;
    struct err err = ERR_INIT;
    if (given) {
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        json_write(&text, given, JSON_COMPACT);
        if (metadata_parse(&md, text.buf, text.len, &err) < 0)
            BUG("%s", err.text);
    } else {
        metadata_init(&md, clock_system());
    }
    bool failed = metadata_save(root, clock_system(), &md, &err) < 0;
    if (metadata_load(root, clock_system(), &first, NULL) < 0)
        failed = true;
    if (twice)
        failed |= metadata_save(root, clock_system(), &md, &err) < 0;
    if (metadata_load(root, clock_system(), &second, NULL) < 0)
        failed = true;
    tell_error(v, &err, failed);
    if (failed)
        return;
    got_bool(v, "created_at_equal", strcmp(first.created_at, second.created_at) == 0);
    got_bool(v, "updated_at_later", strcmp(first.updated_at, second.updated_at) < 0);
}

static void tell_file(struct vector *v, const char *top)
{
    const char *text = read_metadata(v, top);
    const struct json *md = text ? json_parse(&v->arena, text, strlen(text), NULL) : NULL;
    const struct json *inputs = json_get(md, "inputs");
    struct hash_map seen = {0};
    json_each (input, inputs) {
        hash_map_put(&seen, json_str(json_get(input, "from"), ""), 1);
    }
    got_bool(v, "valid_json", md != NULL);
    got_int(v, "inputs", inputs ? inputs->count : 0);
    got_int(v, "distinct", (int64_t)seen.count);
    hash_map_release(&seen);
    got_text(v, "mode", rig_mode(v, top, LAYOUT_METADATA));
    json_each (key, wants(v, "absent_keys")) {
        if (json_get(md, key->text))
            vector_fail(v, "expected no %s got one", key->text);
    }
    json_each (key, wants(v, "present_keys")) {
        if (!json_get(md, key->text))
            vector_fail(v, "expected %s got none", key->text);
    }
}

void area_metadata_save(struct vector *v)
{
    const char *top = rig_temp_dir(v);
    struct beneath *root = open_root(v, top);
    int64_t writers = in_int(v, "writers", 0), workers = in_int(v, "workers", 0);
    /* The root is removed before the save. */
    if (!in_bool(v, "root_exists", true) && file_remove_tree(top, NULL) < 0)
        BUG("cannot remove %s", top);
    if (writers)
        write_at_once(v, root, (size_t)writers, false);
    if (workers)
        write_at_once(v, root, (size_t)workers, true);
    if (!writers && !workers)
        save_plainly(v, root);
    tell_names(v, top);
    tell_file(v, top);
    beneath_close(root);
    remove_top(v, top);
}

void area_metadata_tempname(struct vector *v)
{
    got_bool(v, "is_root_temp", metadata_is_temp(in_text(v, "path", "")));
}
