/* What holds for every implementation, and the one in memory. */

#include "versions.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "mime.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static bool is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\n\v\f\r")];
}

static int check(const struct versions *versions, const char *name, struct err *err)
{
    if (!versions)
        return err_set(err, "there is no artifact service");
    if (is_blank(name))
        return err_set(err, "the artifact has no name");
    return 0;
}

int versions_save(struct versions *versions, const char *name, const void *bytes, size_t len, const char *mime,
                  int64_t *version, struct err *err)
{
    int64_t own;
    if (check(versions, name, err) < 0)
        return -1;
    return versions->ops->save(versions, name, bytes, len, is_blank(mime) ? MIME_BYTES : mime, version ? version : &own,
                               err);
}

int versions_load(struct versions *versions, const char *name, int64_t version, struct strbuf *out, char **mime,
                  int64_t *actual, struct err *err)
{
    if (check(versions, name, err) < 0)
        return -1;
    char *own_mime = NULL;
    int64_t own_actual;
    int status = versions->ops->load(versions, name, version, out, &own_mime, actual ? actual : &own_actual, err);
    if (mime)
        *mime = status < 0 ? NULL : own_mime;
    else
        free(own_mime);
    return status;
}

int versions_list(struct versions *versions, const char *name, int64_t **list, size_t *count, struct err *err)
{
    *list = NULL;
    *count = 0;
    return check(versions, name, err) < 0 ? -1 : versions->ops->list(versions, name, list, count, err);
}

int versions_remove(struct versions *versions, const char *name, struct err *err)
{
    return check(versions, name, err) < 0 ? -1 : versions->ops->remove(versions, name, err);
}

void versions_free(struct versions *versions)
{
    if (versions)
        versions->ops->free(versions);
}

int versions_parse_ref(const char *ref, char **name, int64_t *version, struct err *err)
{
    const char *at = strrchr(ref, '@');
    const char *digits = at ? at + 1 : "";
    *name = NULL;
    *version = VERSIONS_NEWEST;
    if (!*digits || digits[strspn(digits, "0123456789")]) {
        *name = xstrdup(ref);
        return 0;
    }
    int64_t number = 0;
    for (; *digits; digits++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *digits - '0', &number))
            return err_set(err, "invalid artifact ref: %.200s: there is no such version", ref);
    CLEANUP(free) char *before = xmemdup0(ref, (size_t)(at - ref));
    if (is_blank(before))
        return err_set(err, "invalid artifact ref: %.200s: it has no name", ref);
    *name = steal(&before);
    *version = number;
    return 0;
}

/* ---- in memory ---- */

struct kept {
    char *name, *mime, *bytes;
    size_t len;
    int64_t version;
};

struct memory {
    struct versions base;
    pthread_mutex_t mutex;
    struct kept *kept; /* in the order saved */
    size_t count, room;
};

/* The newest, or the one asked for. */
static const struct kept *find(const struct memory *m, const char *name, int64_t version)
{
    for (size_t i = m->count; i-- > 0;)
        if (strcmp(m->kept[i].name, name) == 0 && (version == VERSIONS_NEWEST || version == m->kept[i].version))
            return &m->kept[i];
    return NULL;
}

static int memory_save(struct versions *self, const char *name, const void *bytes, size_t len, const char *mime,
                       int64_t *version, struct err *err)
{
    struct memory *m = CONTAINER_OF(self, struct memory, base);
    (void)err;
    pthread_mutex_lock(&m->mutex);
    const struct kept *newest = find(m, name, VERSIONS_NEWEST);
    *version = newest ? newest->version + 1 : 0;
    GROW(m->kept, m->count, m->room);
    m->kept[m->count++] = (struct kept){
        .name = xstrdup(name), .mime = xstrdup(mime), .bytes = xmemdup0(bytes, len), .len = len, .version = *version};
    pthread_mutex_unlock(&m->mutex);
    return 0;
}

static int memory_load(struct versions *self, const char *name, int64_t version, struct strbuf *out, char **mime,
                       int64_t *actual, struct err *err)
{
    struct memory *m = CONTAINER_OF(self, struct memory, base);
    int status = 0;
    pthread_mutex_lock(&m->mutex);
    const struct kept *kept = find(m, name, version);
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
    struct memory *m = CONTAINER_OF(self, struct memory, base);
    (void)err;
    pthread_mutex_lock(&m->mutex);
    *list = xcalloc(m->count + 1, sizeof(**list));
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->kept[i].name, name) == 0)
            (*list)[(*count)++] = m->kept[i].version;
    pthread_mutex_unlock(&m->mutex);
    return 0;
}

static void release_kept(struct kept *kept)
{
    free(kept->name);
    free(kept->mime);
    free(kept->bytes);
}

static int memory_remove(struct versions *self, const char *name, struct err *err)
{
    struct memory *m = CONTAINER_OF(self, struct memory, base);
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
    struct memory *m = CONTAINER_OF(self, struct memory, base);
    for (size_t i = 0; i < m->count; i++)
        release_kept(&m->kept[i]);
    free(m->kept);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

static const struct versions_ops memory_ops = {memory_save, memory_load, memory_list, memory_remove, memory_free};

struct versions *versions_in_memory(void)
{
    struct memory *m = xcalloc(1, sizeof(*m));
    m->base.ops = &memory_ops;
    pthread_mutex_init(&m->mutex, NULL);
    return &m->base;
}
