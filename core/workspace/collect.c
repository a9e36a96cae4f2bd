/* Collects files that programs left in a workspace: by patterns, or by an output spec with limits (collect.h).
 *
 * Both kinds take the same path: the hits of a pattern in order, each opened beneath the root and judged by its
 * descriptor, each file once by its real path, then `take` with a limit. Only the limits and the treatment of dangling
 * links differ. */

#include "collect.h"
#include "base/arena.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "glob.h"
#include "globs.h"
#include "inside.h"
#include "metadata.h"
#include "mime.h"
#include "versions.h"
#include "workspace.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define SKIPPED_MAX 1000 /* reasons kept; more add no information */

struct collection {
    struct workspace *ws;
    const struct output_spec *spec; /* with effective limits; NULL: all files, whole up to the read limit */
    struct collected *out;
    struct hash_map seen; /* real paths */
    int64_t left;         /* bytes that may still be read */
    bool as_found;        /* identify a file by its path, not by its target */
};

/* The outcome of a hit. */
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

/* Reads up to `limit` bytes, whatever size the file reports. Returns 0, or -1 with errno. */
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
    /* Reading one byte more shows the truth, whatever the size was: a program may be writing to the file. */
    int64_t size = st->st_size > (int64_t)content.len ? st->st_size : (int64_t)content.len;
    if ((int64_t)content.len > limit)
        strbuf_set_len(&content, (size_t)limit);
    struct collected_file file = {
        .size = size, .runs = (st->st_mode & S_IXUSR) != 0, .truncated = size > (int64_t)content.len};
    file.mime = limit > 0 ? mime_sniff(content.buf, content.len) : "";
    if (file.truncated && c->spec && c->spec->save && c->spec->lenient)
        return skip(c, name, "it is too large to collect, so it was not saved; use save_artifact");
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
    /* Without a spec every file is cut at the same limit, which its flag records. Only the total limit counts as
     * limits_hit. */
    out->limits_hit |= file.truncated && (c->spec || c->left <= 0);
    return TAKEN;
}

/* Handles a hit that cannot be opened. */
static enum taken refuse_pattern(struct collection *c, const struct glob_hit *hit, const struct err *why,
                                 struct err *err)
{
    if (hit->linked && (why->code == ENOENT || why->code == ELOOP || why->code == ENOTDIR)) {
        if (!c->spec || c->spec->lenient)
            return skip(c, hit->path, "it is a dangling link");
        err_set(err, "%.300s is a dangling link", hit->path);
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
    /* Open only known files for reading: a link may lead to a FIFO, and opening it would wake its writer. */
    CLEANUP(fd)
    int seen = hit->linked ? inside_open(c->ws->root, hit->path, O_PATH, &real, &own)
                           : beneath_openat(c->ws->root, hit->path, O_PATH | O_NOFOLLOW, 0, &own);
    if (seen < 0)
        return refuse_pattern(c, hit, &own, err);
    const char *itself = real && !c->as_found ? real : hit->path;
    /* Outputs keep the requested name: "out/report", even if that is a link to a file elsewhere. */
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

/* Collects all hits of one pattern, until a limit ends it. */
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

static void begin_collecting(struct span *span, struct workspace *ws, const char *const *patterns, size_t count)
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
    begin_collecting(&span, c->ws, patterns, count);
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

struct collect_record {
    const struct output_spec *spec;
    const struct collected *out;
    struct clock *clock;
};

static void add_record(struct metadata *md, void *user)
{
    const struct collect_record *r = user;
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
    /* Programs may have written more than the policy allows. Their files are still collected, but the result says
     * so. */
    out->limits_hit |= workspace_check_disk(ws, 0, NULL) < 0;
    struct collect_record record = {.spec = spec, .out = out, .clock = ws->clock};
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
    begin_collecting(&span, ws, (const char *const *)spec->globs, spec->glob_count);
    int status = collect_and_record(ws, spec, out, &own);
    json_add_int(&span.attrs, SPAN_COUNT, (int64_t)out->count);
    return span_end(&span, status, &own, err);
}

/* ---- what to collect ---- */

/* One table gives both spellings of each member and its target. A member of the wrong type is an error in either
 * spelling, even if the other one wins. */

enum kind { TEXTS, NUMBER, BOOLEAN, TEXT };

static const struct collect_row {
    const char *snake, *legacy;
    enum kind kind;
    size_t offset;
} rows[] = {
    {"globs", "Globs", TEXTS, offsetof(struct output_spec, globs)},
    {"max_files", "MaxFiles", NUMBER, offsetof(struct output_spec, max_files)},
    {"max_file_bytes", "MaxFileBytes", NUMBER, offsetof(struct output_spec, max_file_bytes)},
    {"max_total_bytes", "MaxTotalBytes", NUMBER, offsetof(struct output_spec, max_total_bytes)},
    {"save", "Save", BOOLEAN, offsetof(struct output_spec, save)},
    {"name_template", "NameTemplate", TEXT, offsetof(struct output_spec, name_template)},
    {"inline", "Inline", BOOLEAN, offsetof(struct output_spec, inline_content)},
};

static void drop_globs(struct output_spec *spec)
{
    for (size_t i = 0; i < spec->glob_count; i++)
        free(spec->globs[i]);
    free(spec->globs);
    spec->globs = NULL;
    spec->glob_count = 0;
}

static int wrong(struct err *err, const struct json *value, const char *wanted)
{
    return err_set(err, "%.100s is not %s but of type %s", value->key, wanted, json_type_name(value->type));
}

static int set_texts(struct output_spec *spec, const struct json *value, struct err *err)
{
    static const char wanted[] = "a list of texts";
    if (value->type != JSON_ARRAY)
        return wrong(err, value, wanted);
    json_each (item, value) {
        if (item->type != JSON_STRING)
            return wrong(err, value, wanted);
    }
    drop_globs(spec);
    spec->globs = xcalloc(value->count + 1, sizeof(*spec->globs));
    json_each (item, value) {
        spec->globs[spec->glob_count++] = xmemdup0(item->text, item->len);
    }
    return 0;
}

/* A whole number as written: no point and no exponent. */
static int set_number(int64_t *place, const struct json *value, struct err *err)
{
    int64_t number =
        value->type == JSON_NUMBER && !strpbrk(value->text, ".eE") ? json_int(value, INT64_MIN) : INT64_MIN;
    if (number == INT64_MIN)
        return wrong(err, value, "a whole number");
    *place = number;
    return 0;
}

static int set_member(struct output_spec *spec, const struct collect_row *row, const struct json *value,
                      struct err *err)
{
    void *place = (char *)spec + row->offset;
    if (value->type == JSON_NULL)
        return 0;
    switch (row->kind) {
    case TEXTS:
        return set_texts(spec, value, err);
    case NUMBER:
        return set_number(place, value, err);
    case BOOLEAN:
        if (value->type != JSON_TRUE && value->type != JSON_FALSE)
            return wrong(err, value, "true or false");
        *(bool *)place = value->type == JSON_TRUE;
        return 0;
    case TEXT:
        if (value->type != JSON_STRING)
            return wrong(err, value, "a text");
        free(*(char **)place);
        *(char **)place = xmemdup0(value->text, value->len);
        return 0;
    }
    BUG("unknown kind");
}

int output_spec_read(struct output_spec *spec, const struct json *object, struct err *err)
{
    *spec = (struct output_spec){0};
    if (object->type != JSON_OBJECT)
        return object->type == JSON_NULL ? 0 : err_set(err, "the argument must be an object");
    for (int snake = 0; snake <= 1; snake++) /* the preferred spelling last, so that it wins */
        json_each (member, object) {
            for (size_t i = 0; i < COUNT_OF(rows); i++)
                if (snake ? strcmp(member->key, rows[i].snake) == 0 : strcasecmp(member->key, rows[i].legacy) == 0)
                    if (set_member(spec, &rows[i], member, err) < 0)
                        return -1;
        }
    return 0;
}

struct output_spec output_spec_effective(const struct output_spec *spec)
{
    struct output_spec out = *spec;
    if (out.max_files <= 0)
        out.max_files = OUTPUT_MAX_FILES;
    if (out.max_file_bytes <= 0 || out.max_file_bytes > OUTPUT_MAX_FILE_BYTES)
        out.max_file_bytes = OUTPUT_MAX_FILE_BYTES;
    if (out.max_total_bytes <= 0)
        out.max_total_bytes = OUTPUT_MAX_TOTAL_BYTES;
    return out;
}

void output_spec_release(struct output_spec *spec)
{
    drop_globs(spec);
    free(spec->name_template);
    *spec = (struct output_spec){0};
}
