/* Both kinds of collection go the same way: the hits of a pattern in order, each opened beneath the root and judged by
 * its descriptor, each file once by its real path, and then `take` with a limit. What differs is the limits and what a
 * link to nothing means. */

#include "collect.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "glob.h"
#include "globs.h"
#include "inside.h"
#include "metadata.h"
#include "mime.h"
#include "outputspec.h"
#include "versions.h"
#include "workspace.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SKIPPED_MAX 1000 /* reasons; more tell nothing new */

struct collection {
    struct workspace *ws;
    const struct output_spec *spec; /* with the limits that hold; NULL: all files, whole up to the read limit */
    struct collected *out;
    struct hash_map seen; /* real paths */
    int64_t left;         /* bytes that may still be read */
    bool as_found;        /* a file is its path, not what that leads to */
};

/* What became of a hit. */
enum taken { TAKEN, PASSED, FAILED };

void collected_release(struct collected *out)
{
    for (size_t i = 0; i < out->count; i++) {
        free(out->files[i].name);
        free(out->files[i].content);
        free(out->files[i].saved_as);
    }
    for (size_t i = 0; i < out->skipped_count; i++) {
        free(out->skipped[i].name);
        free(out->skipped[i].why);
    }
    free(out->files);
    free(out->skipped);
    *out = (struct collected){0};
}

static enum taken skip(struct collection *c, const char *name, const char *why)
{
    struct collected *out = c->out;
    if (out->skipped_count < SKIPPED_MAX) {
        GROW(out->skipped, out->skipped_count, out->skipped_room);
        out->skipped[out->skipped_count++] = (struct collect_skip){.name = xstrdup(name), .why = xstrdup(why)};
    }
    return PASSED;
}

/* Up to `limit` bytes, whatever size the file claims to have. 0, or -1 with errno. */
static int read_up_to(int fd, size_t limit, int64_t size, struct strbuf *out)
{
    size_t guess = size < 0 || (uint64_t)size > limit ? limit : (size_t)size;
    while (out->len < limit) {
        size_t want = guess > out->len ? guess - out->len : limit - out->len;
        if (want > (1 << 20))
            want = 1 << 20;
        strbuf_grow(out, want);
        ssize_t got = read(fd, out->buf + out->len, want);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            return 0;
        strbuf_set_len(out, out->len + (size_t)got);
    }
    return 0;
}

static int save(struct collection *c, struct collected_file *file, const struct strbuf *content, struct err *err)
{
    const char *before = c->spec->name_template ? c->spec->name_template : "";
    CLEANUP(free) char *name = xasprintf("%s%s", before, file->name);
    if (versions_save(c->ws->versions, name, content->buf, content->len, file->mime, &file->version, err) < 0)
        return -1;
    file->saved_as = steal(&name);
    return 0;
}

/* Reads the open file and adds it. */
static enum taken take(struct collection *c, int fd, const struct stat *st, const char *name, struct err *err)
{
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    int64_t limit = c->spec ? c->spec->max_file_bytes : OUTPUT_MAX_FILE_BYTES;
    if (limit > c->left)
        limit = c->left;
    if (limit > 0 && read_up_to(fd, (size_t)limit + 1, st->st_size, &content) < 0)
        return skip(c, name, strerrordesc_np(errno));
    /* One byte more tells, whatever its size was: a program may be writing to it. */
    int64_t size = st->st_size > (int64_t)content.len ? st->st_size : (int64_t)content.len;
    if ((int64_t)content.len > limit)
        strbuf_set_len(&content, (size_t)limit);
    struct collected_file file = {
        .size = size, .runs = (st->st_mode & S_IXUSR) != 0, .truncated = size > (int64_t)content.len};
    file.mime = limit > 0 ? mime_sniff(content.buf, content.len) : "";
    if (file.truncated && c->spec && c->spec->save && c->spec->lenient)
        return skip(c, name, "it is more than may be read of a file, so it was not saved; save_artifact takes more");
    if (file.truncated && c->spec && c->spec->save) {
        err_set(err, "cannot save truncated output file: %.300s", name);
        return FAILED;
    }
    file.name = xstrdup(name);
    if (c->spec && c->spec->save && save(c, &file, &content, err) < 0) {
        free(file.name);
        return FAILED;
    }
    c->left -= (int64_t)content.len;
    if (!c->spec || c->spec->inline_content)
        file.content = strbuf_detach(&content, &file.len);
    else
        file.content = xstrdup("");
    struct collected *out = c->out;
    GROW(out->files, out->count, out->room);
    out->files[out->count++] = file;
    /* Without a spec every file is cut at the same place, which its flag says; only running out of all room is a limit.
     */
    out->limits_hit |= file.truncated && (c->spec || c->left <= 0);
    return TAKEN;
}

/* The hit cannot be opened. */
static enum taken refuse(struct collection *c, const struct glob_hit *hit, const struct err *why, struct err *err)
{
    if (hit->linked && (why->code == ENOENT || why->code == ELOOP || why->code == ENOTDIR)) {
        if (!c->spec || c->spec->lenient)
            return skip(c, hit->path, "it is a link to nothing");
        err_set(err, "%.300s is a link to nothing", hit->path);
        return FAILED;
    }
    if (why->code == ENOENT)
        return PASSED;
    return skip(c, hit->path, why->text);
}

static enum taken take_hit(struct collection *c, const struct glob_hit *hit, struct err *err)
{
    CLEANUP(free) char *real = NULL;
    struct err own = ERR_INIT;
    struct stat st;
    /* Only what has been seen to be a file is opened for reading: behind a link may be a FIFO, which opening would
     * wake.
     */
    CLEANUP(fd)
    int seen = hit->linked ? inside_open(c->ws->root, hit->path, O_PATH, &real, &own)
                           : beneath_openat(c->ws->root, hit->path, O_PATH | O_NOFOLLOW, 0, &own);
    if (seen < 0)
        return refuse(c, hit, &own, err);
    const char *itself = real && !c->as_found ? real : hit->path;
    /* Outputs are called as they were asked for: "out/report" although it is a link to what a program made elsewhere.
     */
    const char *name = c->spec ? hit->path : itself;
    if (fstat(seen, &st) < 0)
        return skip(c, name, strerrordesc_np(errno));
    if (S_ISDIR(st.st_mode) || metadata_is_temp(itself) || hash_map_has(&c->seen, itself))
        return PASSED;
    hash_map_put(&c->seen, itself, 1);
    if (!S_ISREG(st.st_mode)) {
        CLEANUP(free) char *why = xasprintf("it is %s, not a file", beneath_kind(st.st_mode));
        return skip(c, name, why);
    }
    CLEANUP(fd) int fd = inside_reopen(seen);
    return fd < 0 ? skip(c, name, strerrordesc_np(errno)) : take(c, fd, &st, name, err);
}

/* All hits of one pattern, until a limit ends it. */
static int collect_pattern(struct collection *c, const char *pattern, struct err *err)
{
    CLEANUP(glob_hits) struct glob_hits hits;
    if (glob_find(c->ws->root, pattern, &hits, err) < 0)
        return -1;
    c->out->limits_hit |= hits.cut;
    for (size_t i = 0; i < hits.left_count; i++)
        skip(c, hits.left[i].path, hits.left[i].why);
    for (size_t i = 0; i < hits.count; i++) {
        if (c->spec && c->out->count >= (size_t)c->spec->max_files) {
            c->out->limits_hit = true;
            return 0;
        }
        enum taken taken = take_hit(c, &hits.items[i], err);
        if (taken == FAILED)
            return -1;
        if (taken == TAKEN && c->spec && c->left <= 0) {
            c->out->limits_hit = true;
            return 0;
        }
    }
    return 0;
}

static int collect(struct collection *c, const char *const *patterns, size_t count, struct err *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++) {
        CLEANUP(free) char *pattern = globs_within(c->ws->root, patterns[i]);
        if (pattern)
            status = collect_pattern(c, pattern, err);
    }
    hash_map_release(&c->seen);
    return status;
}

static void begin(struct span *span, struct workspace *ws, const char *const *patterns, size_t count)
{
    span_begin(span, ws->ops, ws->clock, SPAN_COLLECT);
    json_open(&span->attrs, SPAN_PATTERNS, '[');
    for (size_t i = 0; i < count; i++)
        json_add_str(&span->attrs, NULL, patterns[i]);
    json_close(&span->attrs, ']');
}

static int collect_all(struct collection *c, const char *const *patterns, size_t count, struct err *err)
{
    struct err own = ERR_INIT;
    struct span span;
    *c->out = (struct collected){0};
    begin(&span, c->ws, patterns, count);
    int status = collect(c, patterns, count, &own);
    json_add_int(&span.attrs, SPAN_COUNT, (int64_t)c->out->count);
    return span_end(&span, status, &own, err);
}

int collect_files(struct workspace *ws, const char *const *patterns, size_t count, struct collected *out,
                  struct err *err)
{
    struct collection c = {.ws = ws, .out = out, .left = COLLECT_BYTES_MAX};
    return collect_all(&c, patterns, count, err);
}

int collect_found(struct workspace *ws, const char *pattern, struct collected *out, struct err *err)
{
    struct collection c = {.ws = ws, .out = out, .left = COLLECT_BYTES_MAX, .as_found = true};
    return collect_all(&c, &pattern, 1, err);
}

/* ---- with a spec ---- */

struct record {
    const struct output_spec *spec;
    const struct collected *out;
    struct clock *clock;
};

static void add_record(struct metadata *md, void *user)
{
    const struct record *r = user;
    const char **names = xcalloc(r->out->count + 1, sizeof(*names));
    int64_t *versions = xcalloc(r->out->count + 1, sizeof(*versions));
    char now[METADATA_STAMP_MAX];
    size_t saved = 0;
    for (size_t i = 0; i < r->out->count; i++)
        if (r->out->files[i].saved_as) {
            names[saved] = r->out->files[i].saved_as;
            versions[saved++] = r->out->files[i].version;
        }
    metadata_stamp(r->clock, now);
    struct metadata_output output = {.globs = (const char *const *)r->spec->globs,
                                     .glob_count = r->spec->glob_count,
                                     .saved_as = names,
                                     .saved_count = saved,
                                     .versions = versions,
                                     .version_count = saved,
                                     .limits_hit = r->out->limits_hit,
                                     .ts = now};
    metadata_add_output(md, &output);
    free(names);
    free(versions);
}

static int collect_and_record(struct workspace *ws, const struct output_spec *spec, struct collected *out,
                              struct err *err)
{
    struct output_spec limits = output_spec_effective(spec);
    struct collection c = {.ws = ws, .spec = &limits, .out = out, .left = limits.max_total_bytes};
    if (collect(&c, (const char *const *)spec->globs, spec->glob_count, err) < 0)
        return -1;
    /* Programs may have written more than the policy allows; what they made is handed over, but not in silence. */
    out->limits_hit |= workspace_check_disk(ws, 0, NULL) < 0;
    struct record record = {.spec = spec, .out = out, .clock = ws->clock};
    if (metadata_update(ws->root, ws->clock, add_record, &record, err) == 0)
        return 0;
    err_prefix(err, "partial output commit");
    err->code = COLLECT_PARTIAL;
    return -1;
}

int collect_outputs(struct workspace *ws, const struct output_spec *spec, struct collected *out, struct err *err)
{
    struct err own = ERR_INIT;
    struct span span;
    *out = (struct collected){0};
    begin(&span, ws, (const char *const *)spec->globs, spec->glob_count);
    int status = collect_and_record(ws, spec, out, &own);
    json_add_int(&span.attrs, SPAN_COUNT, (int64_t)out->count);
    return span_end(&span, status, &own, err);
}
