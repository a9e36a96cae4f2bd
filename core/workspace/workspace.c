/* Workspaces: creating and removing one, the record of each operation, bind mounts, and the table of workspaces by
 * name.
 *
 * A name is unique because an existing folder makes us try the next nanosecond, so two processes with the same clock
 * never share a workspace. */

#include "workspace.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "changes.h"
#include "event/emitter.h"
#include "inside.h"
#include "layout.h"
#include "look.h"
#include "sandbox/user.h"
#include "stage.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define WORKSPACE_MODE   0777 /* programs may run as another user */
#define CLEANUP_ATTEMPTS 8    /* tries while a process in the workspace still writes */

/* An id as part of a file name: [^A-Za-z0-9_-] becomes _. */
static char *workspace_clean_id(const char *id)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t len = strlen(id), count = 0;
    char *clean = xmalloc(len + 1);
    for (size_t used; len; id += used, len -= used) {
        uint32_t c = utf8_decode(id, len, &used); /* one _ per character, however many bytes it has */
        clean[count++] = c < 0x80 && strchr(plain, (int)c) ? (char)c : '_';
    }
    clean[count] = '\0';
    return clean;
}

struct workspace_capabilities workspace_describe(const struct workspace_policy *policy)
{
    return (struct workspace_capabilities){
        .isolation = policy->isolated ? "" : "local",
        .network_allowed = !policy->isolated,
        .streaming = true, /* programs can exchange input and output while they run */
        .clean_env = true,
        .max_disk_bytes = policy->max_disk_bytes > 0 ? policy->max_disk_bytes : 0,
    };
}

static bool is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\r\n")];
}

static const char *temp_base(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

/* Creates "<base>/ws_<id>_<ns>" and returns its path, or NULL. */
static char *make_folder(const char *base, const char *exec_id, struct clock *clock, const struct sandbox_user *owner,
                         struct err *err)
{
    CLEANUP(free) char *id = workspace_clean_id(exec_id);
    /* A file name has at most 255 bytes; the number keeps shortened names distinct. */
    size_t room = 200;
    if (strlen(id) > room)
        id[room] = '\0';
    if (file_mkdirs(base, LAYOUT_DIR_MODE, err) < 0)
        return NULL;
    for (int64_t ns = clock->wall_us(clock) * 1000;; ns++) {
        CLEANUP(free) char *path = xasprintf("%s/ws_%s_%" PRId64, base, id, ns);
        if (mkdir(path, WORKSPACE_MODE) == 0) {
            if (chmod(path, WORKSPACE_MODE) == 0 && (!owner || lchown(path, owner->uid, owner->gid) == 0))
                return steal(&path);
            err_set_errno(err, errno, "cannot open %s to programs", path);
            rmdir(path);
            return NULL;
        }
        if (errno != EEXIST) {
            err_set_errno(err, errno, "cannot create the workspace %s", path);
            return NULL;
        }
    }
}

/* Links the folder that every workspace of this kind shows as inputs. */
static int link_inputs(struct workspace *ws, const char *inputs, struct err *err)
{
    if (is_blank(inputs))
        return 0;
    CLEANUP(free) char *real = realpath(inputs, NULL);
    if (!real)
        return err_set_errno(err, errno, "cannot show %s as " LAYOUT_INPUTS, inputs);
    CLEANUP(free) char *from = xasprintf(HOST_SCHEME "%s", real);
    struct stage_input input = {.from = from, .to = LAYOUT_INPUTS, .mode = "link"};
    return stage_inputs(ws, &input, 1, err);
}

static struct workspace *create(const struct workspace_options *options, struct clock *clock, const char *exec_id,
                                const struct workspace_policy *policy, struct err *err)
{
    CLEANUP(free) char *path = NULL;
    if (options->trusted) {
        if (is_blank(options->base)) {
            err_set(err, "a trusted workspace needs a folder");
            return NULL;
        }
        if (file_mkdirs(options->base, LAYOUT_DIR_MODE, err) < 0)
            return NULL;
        path = xstrdup(options->base);
    } else if (!(path = make_folder(is_blank(options->base) ? temp_base() : options->base, exec_id, clock,
                                    options->other_user ? sandbox_user() : NULL, err))) {
        return NULL;
    }
    struct workspace *ws = xcalloc(1, sizeof(*ws));
    ws->id = xstrdup(exec_id);
    ws->trusted = options->trusted;
    ws->policy = policy ? *policy : (struct workspace_policy){0};
    ws->clock = clock;
    ws->versions = options->versions;
    ws->ops = options->ops;
    ws->lends = options->lends;
    ws->changes = options->local ? changes_new() : NULL;
    ws->refs = 1;
    pthread_mutex_init(&ws->mutex, NULL);
    pthread_mutex_init(&ws->looking, NULL);
    ws->root = beneath_open(path, err);
    if (ws->root) {
        ws->path = xstrdup(beneath_path(ws->root));
        beneath_set_alias(ws->root, options->seen_at);
        if (layout_ensure_beneath(ws->root, clock, err) == 0 && link_inputs(ws, options->inputs, err) == 0)
            return ws;
    }
    if (!ws->trusted)
        (void)!file_remove_tree(path, NULL);
    workspace_free(ws);
    return NULL;
}

struct workspace *workspace_create(const struct workspace_options *options, const char *exec_id,
                                   const struct workspace_policy *policy, struct err *err)
{
    struct clock *clock = options->clock ? options->clock : clock_system();
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, options->ops, clock, SPAN_CREATE);
    json_add_str(&span.attrs, SPAN_EXEC_ID, exec_id);
    struct workspace *ws = create(options, clock, exec_id, policy, &own);
    if (ws)
        json_add_str(&span.attrs, SPAN_PATH, ws->path);
    (void)span_end(&span, ws ? 0 : -1, &own, err);
    return ws;
}

static int remove_tree(const struct workspace *ws, struct err *err)
{
    for (int attempt = 1;; attempt++) {
        if (file_remove_tree(ws->path, err) == 0)
            return 0;
        if (attempt == CLEANUP_ATTEMPTS || !err || err->code != ENOTEMPTY)
            return -1;
    }
}

int workspace_mend(struct workspace *ws, struct err *err)
{
    if (!ws->trusted)
        layout_remove_links(ws->root);
    return layout_ensure_beneath(ws->root, ws->clock, err);
}

int workspace_cleanup(struct workspace *ws, struct err *err)
{
    if (!ws || is_blank(ws->path))
        return 0;
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_CLEANUP);
    json_add_str(&span.attrs, SPAN_PATH, ws->path);
    int status = ws->trusted || ws->policy.persist ? 0 : remove_tree(ws, &own);
    return span_end(&span, status, &own, err);
}

void workspace_free(struct workspace *ws)
{
    if (!ws)
        return;
    pthread_mutex_lock(&ws->mutex);
    bool held = --ws->refs > 0;
    pthread_mutex_unlock(&ws->mutex);
    if (held)
        return;
    look_release(ws, ws->last);
    changes_free(ws->changes);
    beneath_close(ws->root);
    bind_mounts_free(ws->bind_mounts, ws->bind_mount_count);
    pthread_mutex_destroy(&ws->looking);
    pthread_mutex_destroy(&ws->mutex);
    free(ws->id);
    free(ws->path);
    free(ws);
}

struct workspace *workspace_hold(struct workspace *ws)
{
    pthread_mutex_lock(&ws->mutex);
    ws->refs++;
    pthread_mutex_unlock(&ws->mutex);
    return ws;
}

/* ---- operations ---- */

void span_begin(struct span *span, struct event_queue *ops, struct clock *clock, const char *op)
{
    *span = (struct span){.ops = ops, .clock = clock, .op = op, .began_us = clock->now_us(clock)};
    strbuf_init(&span->text);
    span->attrs = json_begin(&span->text);
    json_open(&span->attrs, NULL, '{');
}

int span_end(struct span *span, int status, const struct err *own, struct err *err)
{
    json_close(&span->attrs, '}');
    if (span->ops)
        event_queue_push(
            span->ops,
            &(struct event){.type = EVENT_WORKSPACE_OP,
                            .workspace_op = {.op = span->op,
                                             .elapsed_ms = (span->clock->now_us(span->clock) - span->began_us) / 1000,
                                             .error = status < 0 ? own->text : NULL,
                                             .attrs = span->text.buf}});
    strbuf_release(&span->text);
    if (status < 0 && err)
        *err = *own;
    return status;
}

/* ---- the disk limit ---- */

static struct disk_count count_of(struct workspace *ws)
{
    const struct workspace_look *look = workspace_look(ws);
    struct disk_count count = look->count;
    look_release(ws, look);
    return count;
}

int64_t workspace_disk_used(struct workspace *ws)
{
    return count_of(ws).bytes;
}

int workspace_check_disk(struct workspace *ws, int64_t more, struct err *err)
{
    if (ws->policy.max_disk_bytes <= 0)
        return 0;
    struct disk_count count = count_of(ws);
    return disk_check(ws->policy.max_disk_bytes, &count, more, err);
}

bool workspace_warn_disk(const struct workspace *ws, const struct disk_count *count, struct err *err)
{
    if (ws->policy.max_disk_bytes <= 0)
        return false;
    if (disk_check(ws->policy.max_disk_bytes, count, 0, err) < 0)
        return true;
    if (count->missed)
        err_set(err, "cannot measure a part of the workspace, counted as 0: %s", count->why);
    return count->missed > 0;
}

/* ---- bind mounts ---- */

/* Characters that separate the parts of a container's volume option. */
static bool is_plain(const char *text)
{
    return !strpbrk(text, ":,\n");
}

bool workspace_bind(struct workspace *ws, const char *path, const char *place)
{
    CLEANUP(free) char *real = realpath(path, NULL);
    if (!ws->lends || !real || !is_plain(real) || !is_plain(place) || strcmp(place, ".") == 0)
        return false;
    pthread_mutex_lock(&ws->mutex);
    size_t at = 0;
    while (at < ws->bind_mount_count && strcmp(ws->bind_mounts[at].place, place) != 0)
        at++;
    if (at == ws->bind_mount_count) {
        GROW(ws->bind_mounts, ws->bind_mount_count, ws->lent_room);
        ws->bind_mounts[ws->bind_mount_count++] = (struct bind_mount){.place = xstrdup(place)};
    }
    free(ws->bind_mounts[at].path);
    ws->bind_mounts[at].path = steal(&real);
    pthread_mutex_unlock(&ws->mutex);
    return true;
}

/* A program may have replaced the folder. A mount needs a real folder, reached through no link. The host folder
 * itself must not have been replaced either. */
static bool is_there(const struct workspace *ws, const struct bind_mount *bind_mounts)
{
    struct stat st;
    CLEANUP(free) char *still = realpath(bind_mounts->path, NULL);
    CLEANUP(fd) int fd = beneath_openat(ws->root, bind_mounts->place, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, NULL);
    CLEANUP(free) char *real = fd < 0 ? NULL : inside_real(ws->root, fd, "");
    return real && strcmp(real, bind_mounts->place) == 0 && still && strcmp(still, bind_mounts->path) == 0 &&
           stat(bind_mounts->path, &st) == 0 && S_ISDIR(st.st_mode);
}

struct bind_mount *workspace_bind_mounts(struct workspace *ws, size_t *count)
{
    pthread_mutex_lock(&ws->mutex);
    struct bind_mount *bind_mounts = xcalloc(ws->bind_mount_count + 1, sizeof(*bind_mounts));
    *count = 0;
    for (size_t i = 0; i < ws->bind_mount_count; i++)
        if (is_there(ws, &ws->bind_mounts[i]))
            bind_mounts[(*count)++] = (struct bind_mount){.path = xstrdup(ws->bind_mounts[i].path),
                                                          .place = xstrdup(ws->bind_mounts[i].place)};
    pthread_mutex_unlock(&ws->mutex);
    return bind_mounts;
}

void bind_mounts_free(struct bind_mount *bind_mounts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(bind_mounts[i].path);
        free(bind_mounts[i].place);
    }
    free(bind_mounts);
}

/* ---- workspaces by name ---- */

/* One row per id. While its workspace is created, the row has a thread and waiting callers. Afterwards it has a
 * workspace, or is removed after a failure. Rows are reference-counted, so that a failed row reaches all waiting
 * callers before it is freed. */

struct workspace_row {
    char *id;
    struct workspace *ws;
    struct err err;
    bool making, failed;
    size_t refs; /* the table, the thread, and all waiting callers */
    struct workspace_row *next;
    struct workspace_registry *registry;
    workspace_maker *make;
    void *user;
};

struct workspace_registry {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct workspace_row *rows;
    size_t threads;
};

struct workspace_registry *workspace_registry_new(void)
{
    struct workspace_registry *r = xcalloc(1, sizeof(*r));
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->changed, NULL);
    return r;
}

static void release_row(struct workspace_row *row, size_t refs)
{
    row->refs -= refs;
    if (row->refs)
        return;
    free(row->id);
    free(row);
}

/* Removes the row from the table. Returns how many references the caller must release. */
static size_t remove_row(struct workspace_registry *r, struct workspace_row *row)
{
    struct workspace_row **at = &r->rows;
    while (*at && *at != row)
        at = &(*at)->next;
    if (!*at)
        return 0;
    *at = row->next;
    return 1;
}

void workspace_registry_free(struct workspace_registry *r, bool cleanup)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->mutex);
    while (r->threads)
        pthread_cond_wait(&r->changed, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
    while (r->rows) {
        struct workspace_row *row = r->rows;
        if (cleanup && workspace_cleanup(row->ws, &row->err) < 0)
            row->failed = true; /* its workspace.op has the reason */
        workspace_free(row->ws);
        release_row(row, remove_row(r, row));
    }
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->mutex);
    free(r);
}

static void *make_workspace(void *user)
{
    struct workspace_row *row = user;
    struct workspace_registry *r = row->registry;
    struct err err = ERR_INIT;
    struct workspace *ws = row->make(row->user, row->id, &err);
    size_t refs = 1;
    pthread_mutex_lock(&r->mutex);
    row->making = false;
    row->ws = ws;
    if (!ws) {
        row->failed = true;
        row->err = err;
        refs += remove_row(r, row);
    }
    release_row(row, refs);
    r->threads--;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* Adds a row and starts its thread. Returns NULL and the error on failure. */
static struct workspace_row *start_row(struct workspace_registry *r, const char *id, workspace_maker *make, void *user,
                                       struct err *err)
{
    struct workspace_row *row = xcalloc(1, sizeof(*row));
    *row = (struct workspace_row){
        .id = xstrdup(id), .making = true, .refs = 2, .next = r->rows, .registry = r, .make = make, .user = user};
    pthread_t thread;
    int code = pthread_create(&thread, NULL, make_workspace, row);
    if (code != 0) {
        free(row->id);
        free(row);
        err_set_errno(err, code, "cannot create the workspace");
        return NULL;
    }
    pthread_detach(thread);
    r->rows = row;
    r->threads++;
    return row;
}

static struct workspace_row *find_row(struct workspace_registry *r, const char *id)
{
    struct workspace_row *row = r->rows;
    while (row && strcmp(row->id, id) != 0)
        row = row->next;
    return row;
}

static struct workspace *cancelled(struct err *err)
{
    err_set(err, "canceled before the workspace was created");
    if (err)
        err->code = ECANCELED;
    return NULL;
}

/* The caller holds the mutex. */
static struct workspace *acquire(struct workspace_registry *r, const char *id, workspace_maker *make, void *user,
                                 struct registry_call *call, struct err *err)
{
    struct workspace_row *row = find_row(r, id);
    if (row && row->ws)
        return row->ws;
    if (call && atomic_load(&call->cancelled))
        return cancelled(err);
    if (!row && !(row = start_row(r, id, make, user, err)))
        return NULL;
    row->refs++;
    while (row->making && !(call && atomic_load(&call->cancelled)))
        pthread_cond_wait(&r->changed, &r->mutex);
    struct workspace *ws = row->ws;
    bool given_up = row->making;
    if (row->failed && err)
        *err = row->err;
    release_row(row, 1);
    return given_up ? cancelled(err) : ws;
}

struct workspace *workspace_registry_acquire(struct workspace_registry *r, const char *id, workspace_maker *make,
                                             void *user, struct registry_call *call, struct err *err)
{
    pthread_mutex_lock(&r->mutex);
    struct workspace *ws = acquire(r, id, make, user, call, err);
    pthread_mutex_unlock(&r->mutex);
    return ws;
}

void workspace_registry_cancel(struct workspace_registry *r, struct registry_call *call)
{
    pthread_mutex_lock(&r->mutex);
    atomic_store(&call->cancelled, true);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->mutex);
}
