/* The records of metadata.json: their text, the file, and its lock (metadata.h). */

#include "metadata.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "layout.h"
#include "sandbox/user.h"
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define ZERO_TIME "0001-01-01T00:00:00Z" /* of a record without one */
#define CORRUPT   "metadata.json is corrupt"

void metadata_stamp(struct clock *clock, char out[METADATA_STAMP_MAX])
{
    int64_t wall_us = clock->wall_us(clock);
    char stamp[CLOCK_STAMP_MAX];
    clock_stamp(wall_us, stamp);
    stamp[strcspn(stamp, "Z")] = '\0';
    snprintf(out, METADATA_STAMP_MAX, "%s.%06dZ", stamp, (int)(wall_us % 1000000));
}

void metadata_init(struct metadata *md, struct clock *clock)
{
    char now[METADATA_STAMP_MAX];
    *md = (struct metadata){.version = METADATA_VERSION};
    metadata_stamp(clock, now);
    md->created_at = md->updated_at = md->last_access = arena_strdup(&md->arena, now);
}

void metadata_release(struct metadata *md)
{
    free(md->skills);
    free(md->inputs);
    free(md->outputs);
    arena_release(&md->arena);
    doc_free(md->others);
    *md = (struct metadata){0};
}

/* ---- records ---- */

static const char *copy_text(struct metadata *md, const char *text)
{
    return text ? arena_strdup(&md->arena, text) : NULL;
}

static const char *const *copy_texts(struct metadata *md, const char *const *texts, size_t count)
{
    const char **copy = arena_calloc(&md->arena, count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(&md->arena, texts[i]);
    return copy;
}

void metadata_add_input(struct metadata *md, const struct metadata_input *input)
{
    GROW(md->inputs, md->input_count, md->input_room);
    md->inputs[md->input_count++] = (struct metadata_input){
        .from = copy_text(md, input->from),
        .to = copy_text(md, input->to),
        .ts = copy_text(md, input->ts),
        .resolved = copy_text(md, input->resolved),
        .mode = copy_text(md, input->mode),
        .version = input->version,
    };
}

void metadata_add_output(struct metadata *md, const struct metadata_output *output)
{
    int64_t *versions = arena_calloc(&md->arena, output->version_count + 1, sizeof(*versions));
    for (size_t i = 0; i < output->version_count; i++)
        versions[i] = output->versions[i];
    GROW(md->outputs, md->output_count, md->output_room);
    md->outputs[md->output_count++] = (struct metadata_output){
        .globs = copy_texts(md, output->globs, output->glob_count),
        .saved_as = copy_texts(md, output->saved_as, output->saved_count),
        .versions = versions,
        .glob_count = output->glob_count,
        .saved_count = output->saved_count,
        .version_count = output->version_count,
        .limits_hit = output->limits_hit,
        .ts = copy_text(md, output->ts),
    };
}

static struct metadata_skill *find_skill(const struct metadata *md, const char *name)
{
    for (size_t i = 0; i < md->skill_count; i++)
        if (strcmp(md->skills[i].name, name) == 0)
            return &md->skills[i];
    return NULL;
}

const struct metadata_skill *metadata_find_skill(const struct metadata *md, const char *name)
{
    return find_skill(md, name);
}

void metadata_put_skill(struct metadata *md, const struct metadata_skill *skill)
{
    struct metadata_skill *at = find_skill(md, skill->name);
    if (!at) {
        GROW(md->skills, md->skill_count, md->skill_room);
        at = &md->skills[md->skill_count++];
    }
    *at = (struct metadata_skill){
        .name = copy_text(md, skill->name),
        .rel_path = copy_text(md, skill->rel_path),
        .digest = copy_text(md, skill->digest),
        .staged_at = copy_text(md, skill->staged_at),
        .source = copy_text(md, skill->source),
        .mounted = skill->mounted,
    };
}

/* ---- writing ---- */

static void write_texts(struct doc *to, const char *key, const char *const *texts, size_t count)
{
    struct doc *list = doc_add_list(to, key);
    for (size_t i = 0; i < count; i++)
        doc_add_text(list, NULL, texts[i]);
}

static void write_skill(struct doc *to, const struct metadata_skill *skill)
{
    struct doc *doc = doc_add_object(to, skill->name);
    doc_add_text(doc, "name", skill->name);
    doc_add_text(doc, "rel_path", skill->rel_path);
    doc_add_text(doc, "digest", skill->digest);
    doc_add_bool(doc, "mounted", skill->mounted);
    doc_add_text(doc, "staged_at", skill->staged_at);
    if (skill->source)
        doc_add_text(doc, "source", skill->source);
}

static void write_input(struct doc *to, const struct metadata_input *input)
{
    struct doc *doc = doc_add_object(to, NULL);
    doc_add_text(doc, "from", input->from);
    doc_add_text(doc, "to", input->to);
    if (input->resolved && *input->resolved)
        doc_add_text(doc, "resolved", input->resolved);
    if (input->version != METADATA_NO_VERSION)
        doc_add_int(doc, "version", input->version);
    if (input->mode && *input->mode)
        doc_add_text(doc, "mode", input->mode);
    doc_add_text(doc, "ts", input->ts);
}

static void write_output(struct doc *to, const struct metadata_output *output)
{
    struct doc *doc = doc_add_object(to, NULL);
    write_texts(doc, "globs", output->globs, output->glob_count);
    if (output->saved_count)
        write_texts(doc, "saved_as", output->saved_as, output->saved_count);
    if (output->version_count) {
        struct doc *versions = doc_add_list(doc, "versions");
        for (size_t i = 0; i < output->version_count; i++)
            doc_add_int(versions, NULL, output->versions[i]);
    }
    doc_add_bool(doc, "limits_hit", output->limits_hit);
    doc_add_text(doc, "ts", output->ts);
}

void metadata_write(const struct metadata *md, struct strbuf *out)
{
    CLEANUP(doc) struct doc *doc = doc_new();
    doc_add_int(doc, "version", md->version);
    doc_add_text(doc, "created_at", md->created_at);
    doc_add_text(doc, "updated_at", md->updated_at);
    doc_add_text(doc, "last_access", md->last_access);
    struct doc *skills = doc_add_object(doc, "skills");
    for (size_t i = 0; i < md->skill_count; i++)
        write_skill(skills, &md->skills[i]);
    struct doc *inputs = md->input_count ? doc_add_list(doc, "inputs") : NULL;
    for (size_t i = 0; i < md->input_count; i++)
        write_input(inputs, &md->inputs[i]);
    struct doc *outputs = md->output_count ? doc_add_list(doc, "outputs") : NULL;
    for (size_t i = 0; i < md->output_count; i++)
        write_output(outputs, &md->outputs[i]);
    doc_each (other, md->others)
        doc_add_copy(doc, other);
    doc_write(doc, out);
    strbuf_addch(out, '\n');
}

/* ---- reading ---- */

/* The state of reading, so that each read is one line. It keeps the first wrong type as the error. */
struct metadata_reader {
    struct metadata *md;
    struct err *err;
    bool failed;
};

static void wrong(struct metadata_reader *r, const char *key, const char *wanted)
{
    if (r->failed)
        return;
    r->failed = true;
    err_set(r->err, CORRUPT ": %s is not %s", key, wanted);
    if (r->err)
        r->err->code = METADATA_CORRUPT;
}

/* The member, if it is present and not null; an error if it has another type. */
static const struct doc *member(struct metadata_reader *r, const struct doc *object, const char *key,
                                enum doc_type type, const char *wanted)
{
    const struct doc *value = doc_get(object, key);
    if (!value || doc_type(value) == DOC_NULL)
        return NULL;
    if (doc_type(value) != type) {
        wrong(r, key, wanted);
        return NULL;
    }
    return value;
}

static const char *read_text(struct metadata_reader *r, const struct doc *object, const char *key,
                             const char *otherwise)
{
    const struct doc *value = member(r, object, key, DOC_TEXT, "a text");
    return value ? arena_strdup(&r->md->arena, doc_text(value)) : otherwise;
}

/* Returns the rest after the shape, in which 0 is any digit; NULL if the text does not match. */
static const char *skip_shape(const char *text, const char *shape)
{
    for (; *shape; shape++, text++)
        if (*shape == '0' ? *text < '0' || *text > '9' : *text != *shape)
            return NULL;
    return text;
}

/* True for "2026-01-31T12:00:00Z", also with a fraction of the second or an offset. */
static bool is_time(const char *text)
{
    text = skip_shape(text, "0000-00-00T00:00:00");
    if (!text)
        return false;
    size_t fraction = *text == '.' ? strspn(text + 1, "0123456789") : 0;
    if (fraction)
        text += 1 + fraction;
    if (*text == '+' || *text == '-')
        text = skip_shape(text + 1, "00:00");
    else
        text = skip_shape(text, "Z");
    return text && !*text;
}

static const char *read_time(struct metadata_reader *r, const struct doc *object, const char *key)
{
    const char *text = read_text(r, object, key, ZERO_TIME);
    if (!is_time(text))
        wrong(r, key, "a time");
    return text;
}

static int64_t whole(struct metadata_reader *r, const struct doc *value, const char *key)
{
    int64_t number = doc_int(value, INT64_MIN);
    if (number == INT64_MIN)
        wrong(r, key, "a whole number");
    return number;
}

static int64_t read_int(struct metadata_reader *r, const struct doc *object, const char *key, int64_t otherwise)
{
    const struct doc *value = member(r, object, key, DOC_NUMBER, "a whole number");
    return value ? whole(r, value, key) : otherwise;
}

static bool read_bool(struct metadata_reader *r, const struct doc *object, const char *key)
{
    const struct doc *value = doc_get(object, key);
    enum doc_type type = value ? doc_type(value) : DOC_NULL;
    if (type != DOC_TRUE && type != DOC_FALSE && type != DOC_NULL)
        wrong(r, key, "true or false");
    return type == DOC_TRUE;
}

static const char *const *read_texts(struct metadata_reader *r, const struct doc *object, const char *key,
                                     size_t *count)
{
    const struct doc *list = member(r, object, key, DOC_LIST, "a list of texts");
    const char **texts = arena_calloc(&r->md->arena, (list ? doc_count(list) : 0) + 1, sizeof(*texts));
    *count = 0;
    doc_each (item, list) {
        if (doc_type(item) != DOC_TEXT)
            wrong(r, key, "a list of texts");
        else
            texts[(*count)++] = arena_strdup(&r->md->arena, doc_text(item));
    }
    return texts;
}

static void read_skill(struct metadata_reader *r, const struct doc *at)
{
    struct metadata *md = r->md;
    if (doc_type(at) != DOC_OBJECT) {
        wrong(r, "skills", "an object of objects");
        return;
    }
    struct metadata_skill skill = {
        .name = doc_key(at), /* the key identifies the skill */
        .rel_path = read_text(r, at, "rel_path", ""),
        .digest = read_text(r, at, "digest", ""),
        .staged_at = read_time(r, at, "staged_at"),
        .source = read_text(r, at, "source", NULL),
        .mounted = read_bool(r, at, "mounted"),
    };
    read_text(r, at, "name", ""); /* must still be a text */
    if (!r->failed)
        metadata_put_skill(md, &skill);
}

static void read_input(struct metadata_reader *r, const struct doc *at)
{
    struct metadata *md = r->md;
    if (doc_type(at) != DOC_OBJECT) {
        wrong(r, "inputs", "a list of objects");
        return;
    }
    GROW(md->inputs, md->input_count, md->input_room);
    md->inputs[md->input_count++] = (struct metadata_input){
        .from = read_text(r, at, "from", ""),
        .to = read_text(r, at, "to", ""),
        .ts = read_time(r, at, "ts"),
        .resolved = read_text(r, at, "resolved", NULL),
        .mode = read_text(r, at, "mode", NULL),
        .version = read_int(r, at, "version", METADATA_NO_VERSION),
    };
}

static void read_output(struct metadata_reader *r, const struct doc *at)
{
    struct metadata *md = r->md;
    if (doc_type(at) != DOC_OBJECT) {
        wrong(r, "outputs", "a list of objects");
        return;
    }
    struct metadata_output output = {.limits_hit = read_bool(r, at, "limits_hit"), .ts = read_time(r, at, "ts")};
    output.globs = read_texts(r, at, "globs", &output.glob_count);
    output.saved_as = read_texts(r, at, "saved_as", &output.saved_count);
    const struct doc *list = member(r, at, "versions", DOC_LIST, "a list of numbers");
    int64_t *versions = arena_calloc(&md->arena, (list ? doc_count(list) : 0) + 1, sizeof(*versions));
    doc_each (item, list) {
        versions[output.version_count++] = whole(r, item, "versions");
    }
    output.versions = versions;
    GROW(md->outputs, md->output_count, md->output_room);
    md->outputs[md->output_count++] = output;
}

static void keep_others(struct metadata *md, const struct doc *top)
{
    doc_each (at, top) {
        if (doc_type(at) != DOC_KEPT)
            continue;
        if (!md->others)
            md->others = doc_new();
        doc_add_copy(md->others, at);
    }
}

int metadata_parse(struct metadata *md, const char *text, size_t len, struct err *err)
{
    *md = (struct metadata){0};
    static const char *const known[] = {"version", "created_at", "updated_at", "last_access",
                                        "skills",  "inputs",     "outputs",    NULL};
    struct metadata_reader r = {.md = md, .err = err};
    CLEANUP(doc) struct doc *top = doc_parse_known(text, len, known, err);
    if (!top) {
        err_prefix(err, CORRUPT);
        if (err)
            err->code = METADATA_CORRUPT;
        return -1;
    }
    if (doc_type(top) != DOC_OBJECT)
        wrong(&r, "it", "an object");
    md->version = read_int(&r, top, "version", 0);
    md->created_at = read_time(&r, top, "created_at");
    md->updated_at = read_time(&r, top, "updated_at");
    md->last_access = read_time(&r, top, "last_access");
    doc_each (at, member(&r, top, "skills", DOC_OBJECT, "an object"))
        read_skill(&r, at);
    doc_each (at, member(&r, top, "inputs", DOC_LIST, "a list"))
        read_input(&r, at);
    doc_each (at, member(&r, top, "outputs", DOC_LIST, "a list"))
        read_output(&r, at);
    if (!r.failed)
        keep_others(md, top);
    return r.failed ? -1 : 0;
}

/* ---- the file and its lock ---- */

/* The file of the metadata, and its lock.
 *
 * The lock has two halves. Threads of this process wait for each other in a table by device and inode, because they
 * share the open root folder and with it its flock. A lock on the root folder itself keeps other processes out
 * and leaves no file behind. A program in the workspace could take that lock and keep it, so we wait at most
 * LOCK_PATIENCE_MS.
 *
 * The file is not synced. After a power cut it may be old or empty, which reads as an unknown workspace, and nothing
 * else depends on it. */

#define LOCK_PATIENCE_MS 2000
#define LOCK_PAUSE_MS    2

/* ---- temporaries: .metadata.<pid>.<ns>.<counter>.<16 hex or norand>.tmp ---- */

#define TEMP_PREFIX    ".metadata."
#define TEMP_SUFFIX    ".tmp"
#define TEMP_LEGACY    ".metadata.tmp"
#define TEMP_NO_RANDOM "norand"
#define TEMP_HEX       16
#define TEMP_NAME_MAX  128

static void name_temp(struct clock *clock, char out[TEMP_NAME_MAX])
{
    static atomic_uint_fast64_t counter;
    uint64_t random;
    char suffix[TEMP_HEX + 1] = TEMP_NO_RANDOM;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == (ssize_t)sizeof(random))
        snprintf(suffix, sizeof(suffix), "%016" PRIx64, random);
    snprintf(out, TEMP_NAME_MAX, TEMP_PREFIX "%ld.%" PRId64 "000.%" PRIuFAST64 ".%s" TEMP_SUFFIX, (long)getpid(),
             clock->wall_us(clock), atomic_fetch_add(&counter, 1) + 1, suffix);
}

/* Skips a number above 0 that fits 64 bits, and the dot after it. */
static const char *skip_number(const char *at)
{
    uint64_t number = 0;
    const char *begin = at;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
            return NULL;
    return at > begin && number > 0 && *at == '.' ? at + 1 : NULL;
}

bool metadata_is_temp(const char *path)
{
    if (strcmp(path, TEMP_LEGACY) == 0)
        return true;
    if (strncmp(path, TEMP_PREFIX, strlen(TEMP_PREFIX)) != 0)
        return false;
    const char *at = path + strlen(TEMP_PREFIX);
    for (int i = 0; i < 3; i++)
        if (!(at = skip_number(at)))
            return false;
    if (strncmp(at, TEMP_NO_RANDOM, strlen(TEMP_NO_RANDOM)) == 0)
        return strcmp(at + strlen(TEMP_NO_RANDOM), TEMP_SUFFIX) == 0;
    return strspn(at, "0123456789abcdef") == TEMP_HEX && strcmp(at + TEMP_HEX, TEMP_SUFFIX) == 0;
}

/* ---- the lock ---- */

struct lock {
    dev_t dev;
    ino_t ino;
    int refs;
    bool held;
    struct lock *next;
};
static pthread_mutex_t locks_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t locks_freed = PTHREAD_COND_INITIALIZER;
static struct lock *locks;

static struct lock *lock_threads(const struct stat *st)
{
    pthread_mutex_lock(&locks_mutex);
    struct lock *lock = locks;
    while (lock && (lock->dev != st->st_dev || lock->ino != st->st_ino))
        lock = lock->next;
    if (!lock) {
        lock = xcalloc(1, sizeof(*lock));
        *lock = (struct lock){.dev = st->st_dev, .ino = st->st_ino, .next = locks};
        locks = lock;
    }
    lock->refs++;
    while (lock->held)
        pthread_cond_wait(&locks_freed, &locks_mutex);
    lock->held = true;
    pthread_mutex_unlock(&locks_mutex);
    return lock;
}

static void unlock_threads(struct lock *lock)
{
    pthread_mutex_lock(&locks_mutex);
    lock->held = false;
    if (--lock->refs == 0) {
        struct lock **at = &locks;
        while (*at != lock)
            at = &(*at)->next;
        *at = lock->next;
        free(lock);
    }
    pthread_cond_broadcast(&locks_freed);
    pthread_mutex_unlock(&locks_mutex);
}

static int lock_programs(const struct beneath *root, struct err *err)
{
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    for (int waited = 0; flock(beneath_fd(root), LOCK_EX | LOCK_NB) < 0; waited += LOCK_PAUSE_MS) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return err_set_errno(err, errno, "cannot lock %s", beneath_path(root));
        if (waited >= LOCK_PATIENCE_MS)
            return err_set(err, "a program locked the workspace (flock); wait for it or kill it");
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* ---- the file ---- */

/* True for errors of a file that a program closed, redirected or replaced by a non-file: it counts as corrupt. */
static bool is_spoilt(int code)
{
    return code == EACCES || code == EISDIR || code == EINVAL || code == ENXIO || code == EXDEV || code == ELOOP ||
           code == ENOTDIR;
}

int metadata_load(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err own = ERR_INIT;
    int status = beneath_read(root, LAYOUT_METADATA, &text, METADATA_BYTES_MAX, NULL, &own);
    if (status == 0) {
        status = metadata_parse(md, text.buf, text.len, &own);
        if (status == 0)
            return 0;
        metadata_release(md);
    } else if (own.code == EFBIG) {
        err_set(&own, LAYOUT_METADATA " is corrupt: more than %d bytes", METADATA_BYTES_MAX);
        own.code = METADATA_CORRUPT;
    } else if (is_spoilt(own.code)) {
        own.code = METADATA_CORRUPT;
    }
    metadata_init(md, clock);
    if (status < 0 && own.code == ENOENT)
        return 0;
    if (err)
        *err = own;
    return -1;
}

int metadata_save(const struct beneath *root, struct clock *clock, struct metadata *md, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    char now[METADATA_STAMP_MAX], temp[TEMP_NAME_MAX];
    int dir = beneath_fd(root);
    metadata_stamp(clock, now);
    md->updated_at = arena_strdup(&md->arena, now);
    metadata_write(md, &text);
    name_temp(clock, temp);
    CLEANUP(fd) int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, METADATA_MODE);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot write " LAYOUT_METADATA);
    if (!sandbox_user_give(dir, fd) || fchmod(fd, METADATA_MODE) < 0 || file_write_all(fd, text.buf, text.len) < 0 ||
        renameat(dir, temp, dir, LAYOUT_METADATA) < 0) {
        err_set_errno(err, errno, "cannot write " LAYOUT_METADATA);
        unlinkat(dir, temp, 0);
        return -1;
    }
    return 0;
}

int metadata_ensure(const struct beneath *root, struct clock *clock, struct err *err)
{
    struct stat st;
    struct err own = ERR_INIT;
    if (beneath_lstat(root, LAYOUT_METADATA, &st, &own) == 0)
        return 0;
    if (own.code != ENOENT) {
        if (err)
            *err = own;
        return -1;
    }
    CLEANUP(metadata) struct metadata md;
    metadata_init(&md, clock);
    return metadata_save(root, clock, &md, err);
}

/* The caller holds both halves of the lock. */
static int update(const struct beneath *root, struct clock *clock, void (*change)(struct metadata *md, void *user),
                  void *user, struct err *err)
{
    CLEANUP(metadata) struct metadata md;
    struct err own = ERR_INIT;
    char now[METADATA_STAMP_MAX];
    if (metadata_load(root, clock, &md, &own) < 0 && own.code != METADATA_CORRUPT) {
        if (err)
            *err = own;
        return -1;
    }
    metadata_stamp(clock, now);
    md.last_access = arena_strdup(&md.arena, now);
    change(&md, user);
    return metadata_save(root, clock, &md, err);
}

int metadata_update(const struct beneath *root, struct clock *clock, void (*change)(struct metadata *md, void *user),
                    void *user, struct err *err)
{
    struct stat st;
    if (fstat(beneath_fd(root), &st) < 0)
        return err_set_errno(err, errno, "%s", beneath_path(root));
    struct lock *lock = lock_threads(&st);
    int status = lock_programs(root, err);
    if (status == 0) {
        status = update(root, clock, change, user, err);
        flock(beneath_fd(root), LOCK_UN);
    }
    unlock_threads(lock);
    return status;
}
