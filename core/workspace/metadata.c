/* The records and their text. Files and locks are in metadata_file.c. */

#include "metadata.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <stdio.h>
#include <string.h>

#define ZERO_TIME "0001-01-01T00:00:00Z" /* of a record that has none */
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

void metadata_drop_skill(struct metadata *md, const char *name)
{
    struct metadata_skill *at = find_skill(md, name);
    if (at)
        *at = md->skills[--md->skill_count];
}

/* ---- writing ---- */

/* Names of skills are people's, so they are escaped, which json_open leaves to its callers. */
static void open_skill(struct json_writer *w, const char *name)
{
    if (w->comma)
        strbuf_addch(w->out, ',');
    json_write_str(w->out, name, strlen(name), JSON_COMPACT);
    strbuf_addstr(w->out, ":{");
    w->comma = false;
}

static void write_texts(struct json_writer *w, const char *key, const char *const *texts, size_t count)
{
    json_open(w, key, '[');
    for (size_t i = 0; i < count; i++)
        json_add_str(w, NULL, texts[i]);
    json_close(w, ']');
}

static void write_skill(struct json_writer *w, const struct metadata_skill *skill)
{
    open_skill(w, skill->name);
    json_add_str(w, "name", skill->name);
    json_add_str(w, "rel_path", skill->rel_path);
    json_add_str(w, "digest", skill->digest);
    json_add_bool(w, "mounted", skill->mounted);
    json_add_str(w, "staged_at", skill->staged_at);
    if (skill->source)
        json_add_str(w, "source", skill->source);
    json_close(w, '}');
}

static void write_input(struct json_writer *w, const struct metadata_input *input)
{
    json_open(w, NULL, '{');
    json_add_str(w, "from", input->from);
    json_add_str(w, "to", input->to);
    if (input->resolved && *input->resolved)
        json_add_str(w, "resolved", input->resolved);
    if (input->version != METADATA_NO_VERSION)
        json_add_int(w, "version", input->version);
    if (input->mode && *input->mode)
        json_add_str(w, "mode", input->mode);
    json_add_str(w, "ts", input->ts);
    json_close(w, '}');
}

static void write_output(struct json_writer *w, const struct metadata_output *output)
{
    json_open(w, NULL, '{');
    write_texts(w, "globs", output->globs, output->glob_count);
    if (output->saved_count)
        write_texts(w, "saved_as", output->saved_as, output->saved_count);
    if (output->version_count) {
        json_open(w, "versions", '[');
        for (size_t i = 0; i < output->version_count; i++)
            json_add_int(w, NULL, output->versions[i]);
        json_close(w, ']');
    }
    json_add_bool(w, "limits_hit", output->limits_hit);
    json_add_str(w, "ts", output->ts);
    json_close(w, '}');
}

void metadata_write(const struct metadata *md, struct strbuf *out)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_int(&w, "version", md->version);
    json_add_str(&w, "created_at", md->created_at);
    json_add_str(&w, "updated_at", md->updated_at);
    json_add_str(&w, "last_access", md->last_access);
    json_open(&w, "skills", '{');
    for (size_t i = 0; i < md->skill_count; i++)
        write_skill(&w, &md->skills[i]);
    json_close(&w, '}');
    if (md->input_count) {
        json_open(&w, "inputs", '[');
        for (size_t i = 0; i < md->input_count; i++)
            write_input(&w, &md->inputs[i]);
        json_close(&w, ']');
    }
    if (md->output_count) {
        json_open(&w, "outputs", '[');
        for (size_t i = 0; i < md->output_count; i++)
            write_output(&w, &md->outputs[i]);
        json_close(&w, ']');
    }
    if (md->others)
        strbuf_addf(out, ",%s", md->others);
    json_close(&w, '}');
    strbuf_addch(out, '\n');
}

/* ---- reading ---- */

/* What reads keep in mind, so that each of them is one line; the first wrong type is what is told. */
struct reading {
    struct metadata *md;
    struct err *err;
    bool failed;
};

static void wrong(struct reading *r, const char *key, const char *wanted)
{
    if (r->failed)
        return;
    r->failed = true;
    err_set(r->err, CORRUPT ": %s is not %s", key, wanted);
    if (r->err)
        r->err->code = METADATA_CORRUPT;
}

/* The member, if it is there and not null; a failure when it is of another type. */
static const struct json *member(struct reading *r, const struct json *object, const char *key, enum json_type type,
                                 const char *wanted)
{
    const struct json *value = json_get(object, key);
    if (!value || value->type == JSON_NULL)
        return NULL;
    if (value->type != type) {
        wrong(r, key, wanted);
        return NULL;
    }
    return value;
}

static const char *read_text(struct reading *r, const struct json *object, const char *key, const char *otherwise)
{
    const struct json *value = member(r, object, key, JSON_STRING, "a text");
    return value ? arena_memdup0(&r->md->arena, value->text, value->len) : otherwise;
}

/* What follows the shape, in which a 0 is any digit; NULL when the text does not begin so. */
static const char *skip_shape(const char *text, const char *shape)
{
    for (; *shape; shape++, text++)
        if (*shape == '0' ? *text < '0' || *text > '9' : *text != *shape)
            return NULL;
    return text;
}

/* "2026-01-31T12:00:00Z"; a fraction of the second and an offset may stand in it. */
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

static const char *read_time(struct reading *r, const struct json *object, const char *key)
{
    const char *text = read_text(r, object, key, ZERO_TIME);
    if (!is_time(text))
        wrong(r, key, "a time");
    return text;
}

static int64_t whole(struct reading *r, const struct json *value, const char *key)
{
    int64_t number = json_int(value, INT64_MIN);
    if (number == INT64_MIN)
        wrong(r, key, "a whole number");
    return number;
}

static int64_t read_int(struct reading *r, const struct json *object, const char *key, int64_t otherwise)
{
    const struct json *value = member(r, object, key, JSON_NUMBER, "a whole number");
    return value ? whole(r, value, key) : otherwise;
}

static bool read_bool(struct reading *r, const struct json *object, const char *key)
{
    const struct json *value = json_get(object, key);
    if (value && value->type != JSON_TRUE && value->type != JSON_FALSE && value->type != JSON_NULL)
        wrong(r, key, "true or false");
    return value && value->type == JSON_TRUE;
}

static const char *const *read_texts(struct reading *r, const struct json *object, const char *key, size_t *count)
{
    const struct json *list = member(r, object, key, JSON_ARRAY, "a list of texts");
    const char **texts = arena_calloc(&r->md->arena, (list ? list->count : 0) + 1, sizeof(*texts));
    *count = 0;
    json_each (item, list) {
        if (item->type != JSON_STRING)
            wrong(r, key, "a list of texts");
        else
            texts[(*count)++] = arena_memdup0(&r->md->arena, item->text, item->len);
    }
    return texts;
}

static void read_skill(struct reading *r, const struct json *at)
{
    struct metadata *md = r->md;
    if (at->type != JSON_OBJECT) {
        wrong(r, "skills", "an object of objects");
        return;
    }
    struct metadata_skill skill = {
        .name = at->key, /* what it is found by */
        .rel_path = read_text(r, at, "rel_path", ""),
        .digest = read_text(r, at, "digest", ""),
        .staged_at = read_time(r, at, "staged_at"),
        .source = read_text(r, at, "source", NULL),
        .mounted = read_bool(r, at, "mounted"),
    };
    read_text(r, at, "name", ""); /* must be one all the same */
    if (!r->failed)
        metadata_put_skill(md, &skill);
}

static void read_input(struct reading *r, const struct json *at)
{
    struct metadata *md = r->md;
    if (at->type != JSON_OBJECT) {
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

static void read_output(struct reading *r, const struct json *at)
{
    struct metadata *md = r->md;
    if (at->type != JSON_OBJECT) {
        wrong(r, "outputs", "a list of objects");
        return;
    }
    struct metadata_output output = {.limits_hit = read_bool(r, at, "limits_hit"), .ts = read_time(r, at, "ts")};
    output.globs = read_texts(r, at, "globs", &output.glob_count);
    output.saved_as = read_texts(r, at, "saved_as", &output.saved_count);
    const struct json *list = member(r, at, "versions", JSON_ARRAY, "a list of numbers");
    int64_t *versions = arena_calloc(&md->arena, (list ? list->count : 0) + 1, sizeof(*versions));
    json_each (item, list) {
        versions[output.version_count++] = whole(r, item, "versions");
    }
    output.versions = versions;
    GROW(md->outputs, md->output_count, md->output_room);
    md->outputs[md->output_count++] = output;
}

static bool is_known(const char *key)
{
    static const char *const known[] = {"version", "created_at", "updated_at", "last_access",
                                        "skills",  "inputs",     "outputs"};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i], key) == 0)
            return true;
    return false;
}

static void keep_others(struct metadata *md, const struct json *top)
{
    CLEANUP(strbuf) struct strbuf others = STRBUF_INIT;
    json_each (at, top) {
        if (is_known(at->key))
            continue;
        if (others.len)
            strbuf_addch(&others, ',');
        json_write_str(&others, at->key, strlen(at->key), JSON_COMPACT);
        strbuf_addch(&others, ':');
        json_write(&others, at, JSON_COMPACT);
    }
    md->others = others.len ? arena_memdup0(&md->arena, others.buf, others.len) : NULL;
}

int metadata_parse(struct metadata *md, const char *text, size_t len, struct err *err)
{
    *md = (struct metadata){0};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct reading r = {.md = md, .err = err};
    const struct json *top = json_parse(&arena, text, len, err);
    if (!top) {
        err_prefix(err, CORRUPT);
        if (err)
            err->code = METADATA_CORRUPT;
        return -1;
    }
    if (top->type != JSON_OBJECT)
        wrong(&r, "it", "an object");
    md->version = read_int(&r, top, "version", 0);
    md->created_at = read_time(&r, top, "created_at");
    md->updated_at = read_time(&r, top, "updated_at");
    md->last_access = read_time(&r, top, "last_access");
    json_each (at, member(&r, top, "skills", JSON_OBJECT, "an object"))
        read_skill(&r, at);
    json_each (at, member(&r, top, "inputs", JSON_ARRAY, "a list"))
        read_input(&r, at);
    json_each (at, member(&r, top, "outputs", JSON_ARRAY, "a list"))
        read_output(&r, at);
    if (!r.failed)
        keep_others(md, top);
    return r.failed ? -1 : 0;
}
