/* One table says both spellings of each member and where it goes. A member of the wrong type is an error in either
 * spelling, also when the other one wins. */

#include "outputspec.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include <string.h>
#include <strings.h>

enum kind { TEXTS, NUMBER, BOOLEAN, TEXT };

static const struct row {
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

static int set_member(struct output_spec *spec, const struct row *row, const struct json *value, struct err *err)
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
    BUG("no such kind");
}

int output_spec_read(struct output_spec *spec, const struct json *object, struct err *err)
{
    *spec = (struct output_spec){0};
    if (object->type != JSON_OBJECT)
        return object->type == JSON_NULL ? 0 : err_set(err, "what to collect is not an object");
    for (int snake = 0; snake <= 1; snake++) /* the better spelling last, so that it stays */
        json_each (member, object) {
            for (size_t i = 0; i < COUNT_OF(rows); i++)
                if (snake ? strcmp(member->key, rows[i].snake) == 0 : strcasecmp(member->key, rows[i].legacy) == 0)
                    if (set_member(spec, &rows[i], member, err) < 0)
                        return -1;
        }
    return 0;
}

int output_spec_parse(struct output_spec *spec, const char *text, size_t len, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    *spec = (struct output_spec){0};
    const struct json *object = json_parse(&arena, text, len, err);
    return object ? output_spec_read(spec, object, err) : -1;
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
