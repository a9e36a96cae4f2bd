/* Stores the bytes before a write on disk, and restores them for an undo.
 *
 *    <dir>/cp_3/manifest.json   {"v":1,"id":"cp_3","call":…,"files":[{"path":…,"old":{…},"new":{…},"made":…}]}
 *    <dir>/cp_3/0.old 1.old …   the bytes before, one per file that existed
 *
 * The folder is the claim on the number: mkdir fails if another program has it, so no id is used twice. The manifest
 * comes last, by rename, after the blobs are on disk: a folder without one is an interrupted save, and no write
 * followed it. Its number stays used.
 *
 * The new sides are kept only as digests, for undo to compare with: a file that is neither what the write left nor
 * what was there before was changed by another program, and undo refuses instead of losing that change. */

#include "checkpoint.h"
#include "base/arena.h"
#include "base/beneath.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MANIFEST_MAX (16u << 20)
#define ID_PREFIX    "cp_"
/* A recording may claim any number; room must be left above it. */
#define NUMBER_FROM_MAX UINT64_C(1000000000000)

struct checkpoints {
    char *dir;
    atomic_uint_least64_t last; /* the highest number seen; saving may happen on any thread */
};

/* The number in "cp_12"; 0 for another name. */
static uint64_t number_of(const char *id)
{
    size_t prefix = sizeof(ID_PREFIX) - 1;
    size_t digits = strlen(id) < prefix ? 0 : strspn(id + prefix, "0123456789");
    if (strncmp(id, ID_PREFIX, prefix) != 0 || digits == 0 || digits > 18 || id[prefix + digits] || id[prefix] == '0')
        return 0;
    return strtoull(id + prefix, NULL, 10);
}

static int sync_folder(const char *path)
{
    CLEANUP(fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return fsync(fd) < 0 && errno != EINVAL ? -1 : 0; /* EINVAL: a file system without fsync for folders */
}

static int descending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* The numbers in use, highest first. */
static uint64_t *list_numbers(const char *path, size_t *count, struct err *err)
{
    DIR *dir = opendir(path);
    if (!dir) {
        err_set_errno(err, errno, "%s", path);
        return NULL;
    }
    size_t room = 8;
    uint64_t *numbers = xcalloc(room, sizeof(*numbers));
    *count = 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        uint64_t number = number_of(entry->d_name);
        if (!number)
            continue;
        GROW(numbers, *count, room);
        numbers[(*count)++] = number;
    }
    closedir(dir);
    qsort(numbers, *count, sizeof(*numbers), descending);
    return numbers;
}

struct checkpoints *checkpoints_open(const char *dir, struct err *err)
{
    if (file_mkdirs(dir, 0700, err) < 0)
        return NULL;
    size_t count;
    CLEANUP(free) uint64_t *numbers = list_numbers(dir, &count, err);
    if (!numbers)
        return NULL;
    struct checkpoints *store = xcalloc(1, sizeof(*store));
    store->dir = xstrdup(dir);
    atomic_init(&store->last, count ? numbers[0] : 0);
    return store;
}

void checkpoints_close(struct checkpoints *store)
{
    if (!store)
        return;
    free(store->dir);
    free(store);
}

void checkpoints_number_from(struct checkpoints *store, const char *id)
{
    uint64_t number = number_of(id);
    if (number > atomic_load(&store->last) && number < NUMBER_FROM_MAX)
        atomic_store(&store->last, number);
}

/* Creates the folder of a new checkpoint and returns its id. */
static char *claim(struct checkpoints *store, struct err *err)
{
    for (;;) {
        uint64_t number = atomic_fetch_add(&store->last, 1) + 1;
        CLEANUP(free) char *path = xasprintf("%s/" ID_PREFIX "%" PRIu64, store->dir, number);
        if (mkdir(path, 0700) == 0)
            return xasprintf(ID_PREFIX "%" PRIu64, number);
        if (errno != EEXIST) {
            err_set_errno(err, errno, "cannot create a checkpoint in %s", store->dir);
            return NULL;
        }
    }
}

static int save_blob(const char *folder, size_t index, const struct change *change, struct err *err)
{
    CLEANUP(free) char *path = xasprintf("%s/%zu.old", folder, index);
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || file_write_all(fd, change->old.bytes, change->old.len) < 0 || fsync(fd) < 0)
        return err_set_errno(err, errno, "cannot save the old content of %.200s", change->path);
    return 0;
}

static void write_side(struct doc *to, const char *key, const struct change_side *side)
{
    struct doc *doc = doc_add_object(to, key);
    doc_add_bool(doc, "exists", side->exists);
    if (side->exists) {
        doc_add_int(doc, "mode", side->mode);
        doc_add_int(doc, "size", (int64_t)side->len);
    }
    doc_add_text(doc, "digest", side->digest);
}

static void write_manifest(struct strbuf *out, const char *id, const char *call, const struct change_set *set)
{
    CLEANUP(doc) struct doc *doc = doc_new();
    doc_add_int(doc, "v", 1);
    doc_add_text(doc, "id", id);
    doc_add_text(doc, "call", call);
    struct doc *files = doc_add_list(doc, "files");
    for (size_t i = 0; i < set->count; i++) {
        struct doc *file = doc_add_object(files, NULL);
        doc_add_text(file, "path", set->items[i].path);
        write_side(file, "old", &set->items[i].old);
        write_side(file, "new", &set->items[i].new);
        if (set->items[i].made) { /* the first folder created for it */
            CLEANUP(free) char *made = xmemdup0(set->items[i].path, set->items[i].made);
            doc_add_text(file, "made", made);
        }
    }
    doc_write(doc, out);
    strbuf_addch(out, '\n');
}

static int save_into(const char *folder, const char *id, const char *call, const struct change_set *set,
                     struct err *err)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!utf8_valid(set->items[i].path, strlen(set->items[i].path)))
            return err_set(err, "the name of a file is not UTF-8, so its write cannot be undone");
        if (set->items[i].old.exists && save_blob(folder, i, &set->items[i], err) < 0)
            return -1;
    }
    CLEANUP(strbuf) struct strbuf manifest = STRBUF_INIT;
    write_manifest(&manifest, id, call, set);
    CLEANUP(free) char *path = xasprintf("%s/manifest.json", folder);
    return file_replace(path, manifest.buf, manifest.len, 0600, err);
}

char *checkpoint_save(struct checkpoints *store, const char *call, const struct change_set *set, struct err *err)
{
    CLEANUP(free) char *id = claim(store, err);
    if (!id)
        return NULL;
    CLEANUP(free) char *folder = xasprintf("%s/%s", store->dir, id);
    int rc = save_into(folder, id, call, set, err);
    if (rc == 0 && sync_folder(store->dir) < 0)
        rc = err_set_errno(err, errno, "%s", store->dir);
    if (rc < 0) {
        checkpoint_discard(store, id);
        return NULL;
    }
    return steal(&id);
}

void checkpoint_discard(struct checkpoints *store, const char *id)
{
    CLEANUP(free) char *folder = xasprintf("%s/%s", store->dir, id);
    struct err ignored = ERR_INIT;
    int removed = file_remove_tree(folder, &ignored);
    (void)removed; /* a leftover is harmless: no write refers to it */
}

static bool is_true(const struct doc *value)
{
    return value && doc_type(value) == DOC_TRUE;
}

static const char *text_of(const struct doc *value)
{
    const char *text = doc_text(value);
    return text ? text : "";
}

/* Reads a side from the manifest, with its bytes if there is a blob. */
static int read_old(const char *folder, size_t index, const struct doc *side, const char *path, struct change_side *to,
                    struct err *err)
{
    if (!is_true(doc_get(side, "exists"))) {
        change_side_absent(to);
        return 0;
    }
    CLEANUP(free) char *blob = xasprintf("%s/%zu.old", folder, index);
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    if (file_read(blob, &bytes, CHANGE_BYTES_MAX, err) < 0)
        return -1;
    change_side_set(to, bytes.buf, bytes.len, (mode_t)doc_int(doc_get(side, "mode"), 0644));
    if (strcmp(to->digest, text_of(doc_get(side, "digest"))) != 0)
        return err_set(err, "the saved content of %.200s is damaged", path);
    return 0;
}

static int add_undo(struct change_set *set, struct beneath *root, const char *folder, size_t index,
                    const struct doc *file, const char *id, struct err *err)
{
    const char *path = text_of(doc_get(file, "path"));
    const struct doc *old = doc_get(file, "old");
    struct change *change = change_set_add(set, root, path, err);
    if (!change)
        return -1;
    if (change->through)
        return err_set(err, "%.200s is now a symbolic link to %.200s; an undo would change that", path, change->path);
    const char *left = text_of(doc_get(doc_get(file, "new"), "digest"));
    const char *before = text_of(doc_get(old, "digest"));
    if (strcmp(change->old.digest, left) != 0) {
        if (strcmp(change->old.digest, before) == 0)
            return err_set(err, "%.200s is already as before %s", path, id);
        return err_set(err, "%.200s was %s since %s; an undo would lose that", path,
                       change->old.exists ? "changed by someone else" : "deleted", id);
    }
    if (read_old(folder, index, old, path, &change->new, err) < 0)
        return -1;
    /* Folders that the write created are removed with the file. */
    const struct doc *made = doc_get(file, "made");
    size_t len = strlen(text_of(made));
    if (len && !change->new.exists && strncmp(change->path, text_of(made), len) == 0 && change->path[len] == '/')
        change->made = len;
    /* Undo leaves permission bits alone that the write did not change. */
    int64_t was = doc_int(doc_get(old, "mode"), -1), then = doc_int(doc_get(doc_get(file, "new"), "mode"), -1);
    if (was == then && change->new.exists)
        change->new.mode = change->old.mode;
    change->exact_mode = true;
    return 0;
}

struct change_set *checkpoint_undo(struct checkpoints *store, struct beneath *root, const char *id, struct err *err)
{
    if (!number_of(id)) {
        err_set(err, "unknown checkpoint %.100s", id);
        return NULL;
    }
    CLEANUP(free) char *folder = xasprintf("%s/%s", store->dir, id);
    CLEANUP(free) char *path = xasprintf("%s/manifest.json", folder);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err why = ERR_INIT;
    if (file_read(path, &text, MANIFEST_MAX, &why) < 0) {
        if (why.code == ENOENT)
            err_set(err, "the old bytes (%.100s) are not here; another session saved them", id);
        else if (err)
            *err = why;
        return NULL;
    }
    CLEANUP(doc) struct doc *manifest = doc_parse(text.buf, text.len, err);
    if (!manifest)
        return NULL;
    const struct doc *files = doc_get(manifest, "files");
    size_t count = files ? doc_count(files) : 0, at = 0;
    CLEANUP(free) const struct doc **list = xcalloc(count + 1, sizeof(*list));
    doc_each (file, files)
        list[at++] = file;
    struct change_set *set = change_set_new();
    for (size_t i = count; i-- > 0;) {
        if (add_undo(set, root, folder, i, list[i], id, err) < 0) {
            change_set_free(set);
            return NULL;
        }
    }
    return set;
}
