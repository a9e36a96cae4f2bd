/* A store of versions in memory (versions_memory.h). */

#include "versions_memory.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

struct kept_version {
    char *name, *mime, *bytes;
    size_t len;
    int64_t version;
};

struct versions_memory {
    struct versions base;
    pthread_mutex_t mutex;
    struct kept_version *kept; /* in the order saved */
    size_t count, room;
};

/* The newest version, or the requested one. */
static const struct kept_version *find(const struct versions_memory *m, const char *name, int64_t version)
{
    for (size_t i = m->count; i-- > 0;)
        if (strcmp(m->kept[i].name, name) == 0 && (version == VERSIONS_NEWEST || version == m->kept[i].version))
            return &m->kept[i];
    return NULL;
}

static int memory_save(struct versions *self, const char *name, const void *bytes, size_t len, const char *mime,
                       int64_t *version, struct err *err)
{
    struct versions_memory *m = CONTAINER_OF(self, struct versions_memory, base);
    (void)err;
    pthread_mutex_lock(&m->mutex);
    const struct kept_version *newest = find(m, name, VERSIONS_NEWEST);
    *version = newest ? newest->version + 1 : 0;
    GROW(m->kept, m->count, m->room);
    m->kept[m->count++] = (struct kept_version){
        .name = xstrdup(name), .mime = xstrdup(mime), .bytes = xmemdup0(bytes, len), .len = len, .version = *version};
    pthread_mutex_unlock(&m->mutex);
    return 0;
}

static int memory_load(struct versions *self, const char *name, int64_t version, struct strbuf *out, char **mime,
                       int64_t *actual, struct err *err)
{
    struct versions_memory *m = CONTAINER_OF(self, struct versions_memory, base);
    int status = 0;
    pthread_mutex_lock(&m->mutex);
    const struct kept_version *kept = find(m, name, version);
    if (kept) {
        strbuf_add(out, kept->bytes, kept->len);
        *mime = xstrdup(kept->mime);
        *actual = kept->version;
    } else if (version == VERSIONS_NEWEST) {
        status = err_set(err, "artifact not found: %.200s", name);
    } else {
        status = err_set(err, "artifact not found: %.200s has no version %" PRId64, name, version);
    }
    pthread_mutex_unlock(&m->mutex);
    return status;
}

static int memory_list(struct versions *self, const char *name, int64_t **list, size_t *count, struct err *err)
{
    struct versions_memory *m = CONTAINER_OF(self, struct versions_memory, base);
    (void)err;
    pthread_mutex_lock(&m->mutex);
    *list = xcalloc(m->count + 1, sizeof(**list));
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->kept[i].name, name) == 0)
            (*list)[(*count)++] = m->kept[i].version;
    pthread_mutex_unlock(&m->mutex);
    return 0;
}

static void release_kept(struct kept_version *kept)
{
    free(kept->name);
    free(kept->mime);
    free(kept->bytes);
}

static int memory_remove(struct versions *self, const char *name, struct err *err)
{
    struct versions_memory *m = CONTAINER_OF(self, struct versions_memory, base);
    size_t left = 0;
    (void)err;
    pthread_mutex_lock(&m->mutex);
    for (size_t i = 0; i < m->count; i++) {
        if (strcmp(m->kept[i].name, name) == 0)
            release_kept(&m->kept[i]);
        else
            m->kept[left++] = m->kept[i];
    }
    m->count = left;
    pthread_mutex_unlock(&m->mutex);
    return 0;
}

static void memory_free(struct versions *self)
{
    struct versions_memory *m = CONTAINER_OF(self, struct versions_memory, base);
    for (size_t i = 0; i < m->count; i++)
        release_kept(&m->kept[i]);
    free(m->kept);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

static const struct versions_ops memory_ops = {memory_save, memory_load, memory_list, memory_remove, memory_free};

struct versions *versions_in_memory(void)
{
    struct versions_memory *m = xcalloc(1, sizeof(*m));
    m->base.ops = &memory_ops;
    pthread_mutex_init(&m->mutex, NULL);
    return &m->base;
}
