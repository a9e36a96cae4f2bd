/* A row per id. While its workspace is being made, the row has a thread and callers who wait; afterwards it has either
 * a workspace or, after a failure, nobody, and goes. Rows are counted by those who look at them, so that one that
 * failed can be told to all who waited for it before it is freed. */

#include "registry.h"
#include "base/mem.h"
#include "workspace.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

struct row {
    char *id;
    struct workspace *ws;
    struct err err;
    bool making, failed;
    size_t refs; /* the table, the thread, and everyone who waits */
    struct row *next;
    struct workspace_registry *registry;
    workspace_maker *make;
    void *user;
};

struct workspace_registry {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct row *rows;
    size_t threads;
};

struct workspace_registry *workspace_registry_new(void)
{
    struct workspace_registry *r = xcalloc(1, sizeof(*r));
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->changed, NULL);
    return r;
}

static void release_row(struct row *row, size_t refs)
{
    row->refs -= refs;
    if (row->refs)
        return;
    free(row->id);
    free(row);
}

/* Out of the table; how many references that sets free, which the caller releases. */
static size_t remove_row(struct workspace_registry *r, struct row *row)
{
    struct row **at = &r->rows;
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
        struct row *row = r->rows;
        if (cleanup && workspace_cleanup(row->ws, &row->err) < 0)
            row->failed = true; /* its workspace.op says why */
        workspace_free(row->ws);
        release_row(row, remove_row(r, row));
    }
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->mutex);
    free(r);
}

static void *make_workspace(void *user)
{
    struct row *row = user;
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

/* Adds a row and starts its thread; NULL and the error when that is not possible. */
static struct row *start_row(struct workspace_registry *r, const char *id, workspace_maker *make, void *user,
                             struct err *err)
{
    struct row *row = xcalloc(1, sizeof(*row));
    *row = (struct row){
        .id = xstrdup(id), .making = true, .refs = 2, .next = r->rows, .registry = r, .make = make, .user = user};
    pthread_t thread;
    int code = pthread_create(&thread, NULL, make_workspace, row);
    if (code != 0) {
        free(row->id);
        free(row);
        err_set_errno(err, code, "cannot make the workspace");
        return NULL;
    }
    pthread_detach(thread);
    r->rows = row;
    r->threads++;
    return row;
}

static struct row *find_row(struct workspace_registry *r, const char *id)
{
    struct row *row = r->rows;
    while (row && strcmp(row->id, id) != 0)
        row = row->next;
    return row;
}

static struct workspace *cancelled(struct err *err)
{
    err_set(err, "cancelled before the workspace was there");
    if (err)
        err->code = ECANCELED;
    return NULL;
}

/* With the mutex held. */
static struct workspace *acquire(struct workspace_registry *r, const char *id, workspace_maker *make, void *user,
                                 struct registry_call *call, struct err *err)
{
    struct row *row = find_row(r, id);
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
