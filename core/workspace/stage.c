/* Copies files, folders and named inputs into a workspace (stage.h).
 *
 * stage_files and stage_directory take bytes and host folders. stage_inputs resolves the schemes artifact://, host://,
 * workspace:// and skill://, and records what it staged in metadata.json. */

#include "stage.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tree.h"
#include "globs.h"
#include "inside.h"
#include "layout.h"
#include "metadata.h"
#include "sandbox/user.h"
#include "versions.h"
#include "workspace.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\n\v\f\r")];
}

/* Returns how many more bytes may be written, -1: no limit. */
static int64_t stage_room(struct workspace *ws)
{
    if (ws->policy.max_disk_bytes <= 0)
        return -1;
    int64_t used = workspace_disk_used(ws);
    return used < ws->policy.max_disk_bytes ? ws->policy.max_disk_bytes - used : 0;
}

/* ---- folders on the way ---- */

/* Creates missing folders of the path, each beneath its parent's descriptor, and opens the last. Does not sync,
 * because a workspace need not survive a power cut. */
static int make_folders(const struct beneath *root, char *path, struct err *err)
{
    int above = beneath_openat(root, ".", O_RDONLY | O_DIRECTORY, 0, err);
    for (char *part = path; above >= 0;) {
        char *end = part + strcspn(part, "/"), kept = *end;
        struct err own = ERR_INIT;
        *end = '\0';
        /* Open from the root each time: a link to a sibling is valid from there, but would escape from `above`. */
        int fd = beneath_openat(root, path, O_RDONLY | O_DIRECTORY, 0, &own);
        if (fd < 0 && own.code == ENOENT && (mkdirat(above, part, LAYOUT_DIR_MODE) == 0 || errno == EEXIST)) {
            fd = beneath_openat(root, path, O_RDONLY | O_DIRECTORY, 0, &own);
            if (fd >= 0)
                sandbox_user_give(above, fd); /* on failure programs find the folder read-only and report it */
        }
        *end = kept;
        close(above);
        above = fd;
        if (fd < 0)
            *err = own;
        if (!kept)
            break;
        part = end + 1;
    }
    return above;
}

/* Opens the folder `to` and creates it if it is missing. */
static int stage_open_folder(const struct workspace *ws, const char *to, struct err *err)
{
    CLEANUP(free) char *clean = beneath_clean(ws->root, is_blank(to) ? "." : to, err);
    struct err own = ERR_INIT;
    if (!clean)
        return -1;
    int fd = beneath_openat(ws->root, clean, O_RDONLY | O_DIRECTORY, 0, &own);
    if (fd < 0 && own.code == ENOENT)
        fd = make_folders(ws->root, clean, &own);
    if (fd < 0 && err)
        *err = own;
    return fd;
}

int stage_open_parent(const struct workspace *ws, const char *path, char **name, struct err *err)
{
    CLEANUP(free) char *clean = beneath_clean(ws->root, path, err);
    if (!clean)
        return -1;
    if (strcmp(clean, ".") == 0)
        return err_set(err, "%.300s is the workspace itself", path);
    char *slash = strrchr(clean, '/');
    if (slash)
        *slash = '\0';
    int fd = stage_open_folder(ws, slash ? clean : ".", err);
    if (fd >= 0)
        *name = xstrdup(slash ? slash + 1 : clean);
    return fd;
}

/* ---- files ---- */

static int write_beside(int folder, const char *name, const struct stage_file *file)
{
    static atomic_uint counter;
    char temp[64];
    snprintf(temp, sizeof(temp), ".keyturn-stage-%ld-%u.tmp", (long)getpid(), atomic_fetch_add(&counter, 1));
    CLEANUP(fd) int fd = openat(folder, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (!sandbox_user_give(folder, fd) || file_write_all(fd, file->bytes, file->len) < 0 ||
        fchmod(fd, file->mode ? file->mode & 0777 : STAGE_FILE_MODE) < 0 || renameat(folder, temp, folder, name) < 0) {
        int code = errno;
        unlinkat(folder, temp, 0);
        errno = code;
        return -1;
    }
    return 0;
}

/* Writes one file by replacing it whole. `left` comes from stage_room and is reduced by the size. */
static int stage_put(struct workspace *ws, const struct stage_file *file, int64_t *left, struct err *err)
{
    CLEANUP(free) char *name = NULL;
    if (is_blank(file->path))
        return err_set(err, "empty file path");
    if (*left >= 0 && file->len > (size_t)*left) {
        err_set(err, "cannot write %.300s: it has %zu bytes, and the workspace has room for %jd", file->path, file->len,
                (intmax_t)*left);
        if (err)
            err->code = EDQUOT;
        return -1;
    }
    CLEANUP(fd) int folder = stage_open_parent(ws, file->path, &name, err);
    if (folder < 0)
        return -1;
    if (write_beside(folder, name, file) < 0)
        return err_set_errno(err, errno, "cannot write %.300s", file->path);
    if (*left >= 0)
        *left -= (int64_t)file->len;
    return 0;
}

static int put_all(struct workspace *ws, const struct stage_file *files, size_t count, struct err *err)
{
    int64_t left = stage_room(ws);
    for (size_t i = 0; i < count; i++)
        if (stage_put(ws, &files[i], &left, err) < 0)
            return -1;
    return 0;
}

int stage_files(struct workspace *ws, const struct stage_file *files, size_t count, struct err *err)
{
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_STAGE_FILES);
    json_add_int(&span.attrs, SPAN_COUNT, (int64_t)count);
    return span_end(&span, put_all(ws, files, count, &own), &own, err);
}

/* ---- folders ---- */

static int copy_host_folder(struct workspace *ws, const char *src, const struct beneath *opened, const char *to,
                            struct tree_copy *copying, struct err *err)
{
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    CLEANUP(fd) int from = opened ? openat(beneath_fd(opened), ".", flags) : open(src, flags);
    if (from < 0)
        return err_set_errno(err, errno, "cannot stage %.300s", src);
    CLEANUP(fd) int folder = stage_open_folder(ws, to, err);
    if (folder < 0)
        return -1;
    return tree_copy(copying, from, folder, src, err);
}

static int stage_folder(struct workspace *ws, const char *src, const char *to, const struct stage_options *options,
                        bool *mounted, struct err *err)
{
    if (is_blank(src))
        return err_set(err, "the folder to stage has no path");
    CLEANUP(free) char *clean = beneath_clean(ws->root, is_blank(to) ? "." : to, err);
    if (!clean)
        return -1;
    struct tree_copy copying = {.read_only = options->read_only,
                                .follow = !options->strict,
                                .left_out = options->left_out,
                                .left = stage_room(ws),
                                .give = sandbox_user_give};
    const struct beneath *opened = options->opened;
    if (copy_host_folder(ws, src, opened, clean, &copying, err) < 0)
        return -1;
    *mounted = options->allow_mount && workspace_bind(ws, opened ? beneath_path(opened) : src, clean);
    return 0;
}

int stage_directory(struct workspace *ws, const char *src, const char *to, const struct stage_options *options,
                    bool *mounted, struct err *err)
{
    static const struct stage_options plain = {0};
    struct err own = ERR_INIT;
    struct span span;
    bool by_mount = false;
    span_begin(&span, ws->ops, ws->clock, SPAN_STAGE_DIR);
    json_add_str(&span.attrs, SPAN_HOST_PATH, src);
    json_add_str(&span.attrs, SPAN_TO, to);
    int status = stage_folder(ws, src, to, options ? options : &plain, &by_mount, &own);
    json_add_bool(&span.attrs, SPAN_MOUNT_USED, by_mount);
    if (mounted)
        *mounted = by_mount;
    return span_end(&span, status, &own, err);
}

/* ---- inputs ---- */

/* Stages named inputs from four sources. One row per scheme says how to fetch them.
 *
 * A host folder is copied into the folder that holds `to`, not into `to`: callers of this format rely on it. Links
 * within the workspace are relative, so that they stay valid wherever it is mounted. */

#define BLANKS " \t\n\v\f\r"

/* One input while it is staged. */
struct fetch {
    struct workspace *ws;
    const struct stage_input *input;
    const char *rest; /* of `from`, after the scheme */
    const char *to, *mode;
    bool link;
    int64_t *left;
    const struct metadata *before; /* what was staged earlier */
    char *resolved;
    int64_t version;
};

static char *trimmed(const char *text)
{
    if (!text)
        return xstrdup("");
    text += strspn(text, BLANKS);
    size_t len = strlen(text);
    while (len > 0 && strchr(BLANKS, text[len - 1]))
        len--;
    return xmemdup0(text, len);
}

/* ---- placing ---- */

/* Puts a link to `target` at `to` and replaces any entry there. */
static int place_link(struct fetch *f, const char *target, struct err *err)
{
    CLEANUP(free) char *name = NULL;
    CLEANUP(fd) int folder = stage_open_parent(f->ws, f->to, &name, err);
    if (folder < 0)
        return -1;
    if (symlinkat(target, folder, name) == 0)
        return 0;
    if (errno == EEXIST) {
        /* Use the descriptor, because the path of the folder may lead elsewhere by now. */
        CLEANUP(free) char *path = xasprintf("/proc/self/fd/%d/%s", folder, name);
        if (file_remove_tree(path, err) < 0)
            return -1;
        if (symlinkat(target, folder, name) == 0)
            return 0;
    }
    return err_set_errno(err, errno, "cannot link %.300s", f->to);
}

/* Puts a link to an entry of the workspace, relative to the link's real folder. */
static int place_inner_link(struct fetch *f, const char *real, struct err *err)
{
    CLEANUP(free) char *name = NULL;
    CLEANUP(fd) int folder = stage_open_parent(f->ws, f->to, &name, err);
    if (folder < 0)
        return -1;
    CLEANUP(free) char *at = inside_real(f->ws->root, folder, ".");
    CLEANUP(strbuf) struct strbuf target = STRBUF_INIT;
    if (strcmp(at, ".") != 0) {
        strbuf_addstr(&target, "../");
        for (const char *c = at; *c; c++)
            if (*c == '/')
                strbuf_addstr(&target, "../");
    }
    strbuf_addstr(&target, real);
    CLEANUP(free) char *own = strcmp(at, ".") == 0 ? xstrdup(name) : xasprintf("%s/%s", at, name);
    if (strcmp(own, real) == 0)
        return err_set(err, "cannot link %.300s to itself", f->to);
    return place_link(f, target.buf, err);
}

/* Copies the open entry: a file to `to`, a folder's content to `folder`. */
static int place_copy(struct fetch *f, int from, const char *folder, bool follow, struct err *err)
{
    struct tree_copy copying = {.follow = follow, .left = *f->left, .give = sandbox_user_give};
    struct stat st;
    int status = -1;
    if (fstat(from, &st) < 0)
        return err_set_errno(err, errno, "cannot stage %.300s", f->input->from);
    if (S_ISDIR(st.st_mode)) {
        CLEANUP(fd) int to = stage_open_folder(f->ws, folder, err);
        if (to >= 0)
            status = tree_copy(&copying, from, to, f->input->from, err);
    } else if (S_ISREG(st.st_mode)) {
        CLEANUP(free) char *name = NULL;
        CLEANUP(fd) int to = stage_open_parent(f->ws, f->to, &name, err);
        if (to >= 0)
            status = tree_copy_file(&copying, from, &st, to, name, f->input->from, err);
    } else {
        return err_set(err, "cannot stage %.300s: it is %s", f->input->from, beneath_kind(st.st_mode));
    }
    *f->left = copying.left;
    return status;
}

/* ---- the four sources ---- */

/* The version last staged from this artifact to this target. */
static int64_t pinned(const struct fetch *f, const char *name)
{
    for (size_t i = f->before->input_count; i-- > 0;) {
        const struct metadata_input *record = &f->before->inputs[i];
        if (strcmp(record->to, f->to) != 0 || record->version == METADATA_NO_VERSION)
            continue;
        if (record->resolved && strcmp(record->resolved, name) == 0)
            return record->version;
        if (strncmp(record->from, ARTIFACT_SCHEME, strlen(ARTIFACT_SCHEME)) != 0)
            continue;
        CLEANUP(free) char *other = NULL;
        int64_t version;
        if (versions_parse_ref(record->from + strlen(ARTIFACT_SCHEME), &other, &version, NULL) == 0 &&
            strcmp(other, name) == 0)
            return record->version;
    }
    return VERSIONS_NEWEST;
}

static int fetch_artifact(struct fetch *f, struct err *err)
{
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    int64_t version;
    if (versions_parse_ref(f->rest, &f->resolved, &version, err) < 0)
        return -1;
    if (version == VERSIONS_NEWEST && f->input->pin)
        version = pinned(f, f->resolved);
    if (versions_load(f->ws->versions, f->resolved, version, &content, NULL, &f->version, err) < 0)
        return -1;
    struct stage_file file = {.path = f->to, .bytes = content.buf, .len = content.len, .mode = STAGE_FILE_MODE};
    return stage_put(f->ws, &file, f->left, err);
}

static int fetch_host(struct fetch *f, struct err *err)
{
    f->resolved = xstrdup(f->rest);
    if (*f->rest != '/')
        return err_set(err, "cannot stage %.300s: the path must be absolute", f->input->from);
    CLEANUP(fd) int from = open(f->rest, (f->link ? O_PATH : O_RDONLY | O_NONBLOCK | O_NOCTTY) | O_CLOEXEC);
    if (from < 0)
        return err_set_errno(err, errno, "cannot stage %.300s", f->input->from);
    if (f->link)
        return place_link(f, f->rest, err);
    const char *slash = strrchr(f->to, '/');
    CLEANUP(free) char *above = slash ? xmemdup0(f->to, (size_t)(slash - f->to)) : xstrdup(".");
    bool strict = f->input->strict;
    return place_copy(f, from, strict ? f->to : above, !strict, err);
}

static int fetch_inner(struct fetch *f, const char *path, struct err *err)
{
    CLEANUP(free) char *real = NULL;
    f->resolved = xstrdup(path);
    CLEANUP(fd) int seen = inside_open(f->ws->root, path, O_PATH, &real, err);
    struct stat st;
    if (seen < 0)
        return -1;
    if (f->link)
        return place_inner_link(f, real, err);
    if (fstat(seen, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return err_set(err, "cannot stage %.300s: it is %s", f->input->from, beneath_kind(st.st_mode));
    CLEANUP(fd) int from = inside_reopen(seen);
    if (from < 0)
        return err_set_errno(err, errno, "cannot stage %.300s", f->input->from);
    return place_copy(f, from, f->to, false, err);
}

static int fetch_workspace(struct fetch *f, struct err *err)
{
    CLEANUP(free) char *path = globs_within(f->ws->root, f->rest);
    return fetch_inner(f, path ? path : "", err);
}

static int fetch_skill(struct fetch *f, struct err *err)
{
    CLEANUP(free) char *clean = globs_clean(f->rest);
    if (!clean)
        return err_set(err, "path escapes workspace: %.300s", f->input->from);
    CLEANUP(free) char *path = xasprintf("%s/%s", layout_rows[LAYOUT_SKILLS].name, clean);
    return fetch_inner(f, path, err);
}

static const struct {
    const char *scheme;
    int (*fetch)(struct fetch *f, struct err *err);
} schemes[] = {
    {ARTIFACT_SCHEME, fetch_artifact},
    {HOST_SCHEME, fetch_host},
    {"workspace://", fetch_workspace},
    {SKILL_SCHEME, fetch_skill},
};

char *stage_default_to(const char *from)
{
    CLEANUP(free) char *text = trimmed(from);
    CLEANUP(free) char *name = NULL;
    const char *last = text;
    int64_t version;
    if (strncmp(text, ARTIFACT_SCHEME, strlen(ARTIFACT_SCHEME)) == 0 &&
        versions_parse_ref(text + strlen(ARTIFACT_SCHEME), &name, &version, NULL) == 0)
        last = name;
    size_t len = strlen(last);
    while (len > 0 && last[len - 1] == '/')
        len--;
    size_t begin = len;
    while (begin > 0 && last[begin - 1] != '/')
        begin--;
    return xasprintf("%s/%.*s", LAYOUT_INPUTS, (int)(len - begin), last + begin);
}

char *stage_target(const struct workspace *ws, const char *from, const char *to)
{
    CLEANUP(free) char *text = trimmed(to), *said = globs_within(ws->root, text);
    bool into = *text && text[strlen(text) - 1] == '/';
    if (said && !into)
        return steal(&said);
    CLEANUP(free) char *otherwise = stage_default_to(from);
    if (!said)
        return steal(&otherwise);
    size_t len = strlen(said);
    while (len && said[len - 1] == '/')
        len--;
    return xasprintf("%.*s/%s", (int)len, said, otherwise + strlen(LAYOUT_INPUTS "/"));
}

/* ---- the list of inputs ---- */

static bool is_below(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (!path[len] || path[len] == '/');
}

/* Refuses targets that would be replaced or hidden at once: metadata.json, and folders that programs see mounted. */
static int check_target(struct workspace *ws, const char *to, struct err *err)
{
    if (is_below(to, LAYOUT_METADATA) || strcmp(to, ".") == 0)
        return err_set(err, "cannot stage to %.300s: it is reserved for the metadata of the workspace", to);
    size_t count;
    struct bind_mount *bind_mounts = workspace_bind_mounts(ws, &count);
    bool hidden = false;
    for (size_t i = 0; i < count; i++)
        hidden |= is_below(to, bind_mounts[i].place) || is_below(bind_mounts[i].place, to);
    bind_mounts_free(bind_mounts, count);
    return hidden ? err_set(err, "cannot stage to %.300s: it is a read-only skill folder", to) : 0;
}

static int fetch_one(struct fetch *f, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        size_t len = strlen(schemes[i].scheme);
        if (strncmp(f->input->from, schemes[i].scheme, len) != 0)
            continue;
        f->rest = f->input->from + len;
        return schemes[i].fetch(f, err);
    }
    return err_set(err, "unsupported input: %.300s", f->input->from);
}

static char *mode_of(const struct stage_input *input)
{
    char *mode = trimmed(input->mode);
    for (char *at = mode; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (*mode)
        return mode;
    free(mode);
    return xstrdup("copy");
}

/* Stages one input and adds its record to `done`. */
static int stage_one_input(struct workspace *ws, const struct stage_input *input, int64_t *left,
                           struct metadata *before, struct metadata *done, struct err *err)
{
    CLEANUP(free) char *mode = mode_of(input), *to = trimmed(input->to), *clean = NULL;
    char now[METADATA_STAMP_MAX];
    if (!*to) {
        free(to);
        to = stage_default_to(input->from);
    }
    if (!(clean = beneath_clean(ws->root, to, err)) || (input->strict && check_target(ws, clean, err) < 0))
        return -1;
    struct fetch f = {.ws = ws,
                      .input = input,
                      .to = clean,
                      .mode = mode,
                      .link = strcmp(mode, "link") == 0,
                      .left = left,
                      .before = before,
                      .version = METADATA_NO_VERSION};
    int status = fetch_one(&f, err);
    if (status == 0) {
        metadata_stamp(ws->clock, now);
        struct metadata_input record = {
            .from = input->from, .to = clean, .ts = now, .resolved = f.resolved, .mode = mode, .version = f.version};
        metadata_add_input(done, &record);
        metadata_add_input(before, &record); /* a later input of the list may be pinned to this one */
    }
    free(f.resolved);
    return status;
}

static void add_records(struct metadata *md, void *user)
{
    const struct metadata *done = user;
    for (size_t i = 0; i < done->input_count; i++)
        metadata_add_input(md, &done->inputs[i]);
}

static int stage_all(struct workspace *ws, const struct stage_input *inputs, size_t count, struct err *err)
{
    CLEANUP(metadata) struct metadata before = {0}, done = {0};
    struct err own = ERR_INIT;
    if (workspace_mend(ws, err) < 0)
        return -1;
    metadata_init(&done, ws->clock);
    int status = metadata_load(ws->root, ws->clock, &before, &own);
    if (status < 0 && own.code != METADATA_CORRUPT) {
        if (err)
            *err = own;
        return -1;
    }
    int64_t left = stage_room(ws);
    for (size_t i = 0; i < count; i++)
        if (stage_one_input(ws, &inputs[i], &left, &before, &done, err) < 0)
            return -1;
    return metadata_update(ws->root, ws->clock, add_records, &done, err);
}

int stage_inputs(struct workspace *ws, const struct stage_input *inputs, size_t count, struct err *err)
{
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_STAGE_FILES);
    json_add_int(&span.attrs, SPAN_COUNT, (int64_t)count);
    return span_end(&span, stage_all(ws, inputs, count, &own), &own, err);
}
