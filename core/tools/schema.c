/* Checks a value against a schema, and a schema against the supported keywords.
 *
 * A model must correct its call from the error. So the sentence begins with the path and gives both the expected and
 * the actual value. The path is kept in one strbuf that grows and shrinks with the descent. The depth is bounded
 * because both texts were parsed with JSON_DEPTH_MAX. */

#include "schema.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <math.h>

#define ROOT        "arguments"
#define SHOWN_CHARS 60 /* of a value or a list of choices, in an error */

enum { T_NULL = 1, T_BOOLEAN = 2, T_INTEGER = 4, T_NUMBER = 8, T_STRING = 16, T_ARRAY = 32, T_OBJECT = 64 };

static const struct {
    const char *name, *phrase;
    unsigned bit;
} types[] = {
    {"string", "a string", T_STRING}, {"integer", "an integer", T_INTEGER},
    {"number", "a number", T_NUMBER}, {"boolean", "a boolean", T_BOOLEAN},
    {"array", "an array", T_ARRAY},   {"object", "an object", T_OBJECT},
    {"null", "null", T_NULL},
};

static unsigned type_bit(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].bit;
    return 0;
}

static unsigned type_bits(const struct json *type)
{
    if (type->type == JSON_STRING)
        return type_bit(type->text);
    unsigned bits = 0;
    json_each (item, type) {
        bits |= type_bit(json_str(item, ""));
    }
    return bits;
}

/* 3, 3.0 and 3e2 are integers, of any size. */
static bool is_integer(const struct json *number)
{
    if (!strpbrk(number->text, ".eE"))
        return true;
    double value = json_num(number, NAN);
    return isfinite(value) && floor(value) == value;
}

static unsigned value_bits(const struct json *value)
{
    switch (value->type) {
    case JSON_NULL:
        return T_NULL;
    case JSON_FALSE:
    case JSON_TRUE:
        return T_BOOLEAN;
    case JSON_NUMBER:
        return is_integer(value) ? T_NUMBER | T_INTEGER : T_NUMBER;
    case JSON_STRING:
        return T_STRING;
    case JSON_ARRAY:
        return T_ARRAY;
    case JSON_OBJECT:
        return T_OBJECT;
    }
    return 0;
}

static const char *value_phrase(const struct json *value)
{
    unsigned bits = value_bits(value);
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].bit & bits && types[i].bit != T_INTEGER)
            return types[i].phrase;
    return "nothing";
}

static const char *shown(const struct strbuf *path)
{
    return path->len ? path->buf : ROOT;
}

static size_t enter_member(struct strbuf *path, const char *key)
{
    size_t before = path->len;
    if (before)
        strbuf_addch(path, '.');
    strbuf_addstr(path, key);
    return before;
}

static size_t enter_item(struct strbuf *path, size_t index)
{
    size_t before = path->len;
    strbuf_addf(path, "%s[%zu]", before ? "" : ROOT, index);
    return before;
}

/* Appends `value` as JSON, cut if it is long. */
static void show(struct strbuf *out, const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    json_write(&text, value, JSON_COMPACT);
    size_t bytes = utf8_prefix(text.buf, text.len, SHOWN_CHARS);
    strbuf_add(out, text.buf, bytes);
    if (bytes < text.len)
        strbuf_addstr(out, "…");
}

static bool equal(const struct json *a, const struct json *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == JSON_NUMBER)
        return strcmp(a->text, b->text) == 0 || json_num(a, NAN) == json_num(b, NAN);
    if (a->type == JSON_STRING)
        return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
    CLEANUP(strbuf) struct strbuf x = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf y = STRBUF_INIT;
    json_write(&x, a, JSON_CANONICAL);
    json_write(&y, b, JSON_CANONICAL);
    return strcmp(x.buf, y.buf) == 0;
}

static int validate(const struct json *schema, const struct json *value, struct strbuf *path, struct err *err);

static int check_type(const struct json *schema, const struct json *value, const struct strbuf *path, struct err *err)
{
    const struct json *type = json_get(schema, "type");
    if (!type)
        return 0;
    unsigned wanted = type_bits(type);
    if (wanted & value_bits(value))
        return 0;
    CLEANUP(strbuf) struct strbuf phrase = STRBUF_INIT;
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (types[i].bit & wanted)
            strbuf_addf(&phrase, "%s%s", phrase.len ? " or " : "", types[i].phrase);
    if (value->type == JSON_NUMBER) /* "must be an integer, is 2.5" says more than "is a number" */
        return err_set(err, "%s: must be %s, is %.40s", shown(path), phrase.buf, value->text);
    return err_set(err, "%s: must be %s, is %s", shown(path), phrase.buf, value_phrase(value));
}

static int check_enum(const struct json *schema, const struct json *value, const struct strbuf *path, struct err *err)
{
    const struct json *choices = json_get(schema, "enum");
    if (!choices)
        return 0;
    CLEANUP(strbuf) struct strbuf list = STRBUF_INIT;
    json_each (choice, choices) {
        if (equal(choice, value))
            return 0;
        strbuf_addstr(&list, list.len ? ", " : "");
        show(&list, choice);
    }
    CLEANUP(strbuf) struct strbuf was = STRBUF_INIT;
    show(&was, value);
    return err_set(err, "%s: must be one of %.280s, is %s", shown(path), list.buf, was.buf);
}

static int check_bounds(const struct json *schema, const struct json *value, const struct strbuf *path, struct err *err)
{
    if (value->type == JSON_NUMBER) {
        double number = json_num(value, 0);
        const struct json *least = json_get(schema, "minimum"), *most = json_get(schema, "maximum");
        if (least && number < json_num(least, -INFINITY))
            return err_set(err, "%s: must be at least %.40s, is %.40s", shown(path), least->text, value->text);
        if (most && number > json_num(most, INFINITY))
            return err_set(err, "%s: must be at most %.40s, is %.40s", shown(path), most->text, value->text);
        return 0;
    }
    if (value->type != JSON_STRING && value->type != JSON_ARRAY)
        return 0;
    bool text = value->type == JSON_STRING;
    int64_t size = text ? (int64_t)utf8_count(value->text, value->len) : (int64_t)value->count;
    int64_t least = json_int(json_get(schema, text ? "minLength" : "minItems"), 0);
    int64_t most = json_int(json_get(schema, text ? "maxLength" : "maxItems"), INT64_MAX);
    const char *unit = text ? "characters" : "items";
    if (text && size == 0 && least > 0)
        return err_set(err, "%s: must not be empty", shown(path));
    if (size < least)
        return err_set(err, "%s: must have at least %lld %s, has %lld", shown(path), (long long)least, unit,
                       (long long)size);
    if (size > most)
        return err_set(err, "%s: must have at most %lld %s, has %lld", shown(path), (long long)most, unit,
                       (long long)size);
    return 0;
}

static int refuse_unknown(const struct json *properties, const struct json *member, struct strbuf *path,
                          struct err *err)
{
    struct nearest near = nearest_to(member->key);
    json_each (known, properties) {
        nearest_offer(&near, known->key);
    }
    size_t before = enter_member(path, member->key);
    if (near.best)
        err_set(err, "%s: unknown, did you mean \"%s\"?", path->buf, near.best);
    else
        err_set(err, "%s: unknown", path->buf);
    strbuf_set_len(path, before);
    return -1;
}

static int check_members(const struct json *schema, const struct json *object, struct strbuf *path, struct err *err)
{
    const struct json *properties = json_get(schema, "properties");
    const struct json *additional = json_get(schema, "additionalProperties");
    /* Unknown names first: if a name is misspelled, "paht: unknown, did you mean path" helps more than "path: missing".
     */
    json_each (member, object) {
        if (additional && additional->type == JSON_FALSE && !json_get(properties, member->key))
            return refuse_unknown(properties, member, path, err);
    }
    json_each (name, json_get(schema, "required")) {
        if (json_get(object, name->text))
            continue;
        size_t before = enter_member(path, name->text);
        err_set(err, "%s: missing", path->buf);
        strbuf_set_len(path, before);
        return -1;
    }
    json_each (member, object) {
        const struct json *rule = json_get(properties, member->key);
        if (!rule)
            rule = additional;
        if (!rule)
            continue;
        size_t before = enter_member(path, member->key);
        if (validate(rule, member, path, err))
            return -1;
        strbuf_set_len(path, before);
    }
    return 0;
}

static int check_items(const struct json *schema, const struct json *array, struct strbuf *path, struct err *err)
{
    const struct json *rule = json_get(schema, "items");
    size_t index = 0;
    if (!rule)
        return 0;
    json_each (item, array) {
        size_t before = enter_item(path, index++);
        if (validate(rule, item, path, err))
            return -1;
        strbuf_set_len(path, before);
    }
    return 0;
}

static int validate(const struct json *schema, const struct json *value, struct strbuf *path, struct err *err)
{
    if (schema->type == JSON_FALSE)
        return err_set(err, "%s: not allowed", shown(path));
    if (check_type(schema, value, path, err) || check_enum(schema, value, path, err) ||
        check_bounds(schema, value, path, err))
        return -1;
    if (value->type == JSON_OBJECT)
        return check_members(schema, value, path, err);
    if (value->type == JSON_ARRAY)
        return check_items(schema, value, path, err);
    return 0;
}

int schema_validate(const struct json *schema, const struct json *value, struct err *err)
{
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    if (!value)
        return err_set(err, ROOT ": missing");
    return schema ? validate(schema, value, &path, err) : 0;
}

/* Schemas. A supported keyword must have the expected shape; others are ignored. */

static int check_schema(const struct json *schema, struct strbuf *path, struct err *err);

static int check_type_names(const struct json *type, const struct strbuf *path, struct err *err)
{
    if (type->type == JSON_STRING)
        return type_bit(type->text) ? 0 : err_set(err, "%s: unknown type \"%s\"", shown(path), type->text);
    if (type->type != JSON_ARRAY || !type->count)
        return err_set(err, "%s: type must be a name or a list of names", shown(path));
    json_each (name, type) {
        if (name->type != JSON_STRING || !type_bit(name->text))
            return err_set(err, "%s: unknown type \"%s\"", shown(path), json_str(name, "?"));
    }
    return 0;
}

static int check_limits(const struct json *schema, const struct strbuf *path, struct err *err)
{
    static const char *const numbers[] = {"minimum", "maximum"};
    static const char *const sizes[] = {"minLength", "maxLength", "minItems", "maxItems"};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct json *limit = json_get(schema, numbers[i]);
        if (limit && limit->type != JSON_NUMBER)
            return err_set(err, "%s: %s must be a number", shown(path), numbers[i]);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const struct json *limit = json_get(schema, sizes[i]);
        if (limit && (limit->type != JSON_NUMBER || json_int(limit, -1) < 0))
            return err_set(err, "%s: %s must be a whole number from 0", shown(path), sizes[i]);
    }
    return 0;
}

static int check_lists(const struct json *schema, const struct strbuf *path, struct err *err)
{
    const struct json *choices = json_get(schema, "enum");
    if (choices && (choices->type != JSON_ARRAY || !choices->count))
        return err_set(err, "%s: enum must be a list of choices", shown(path));
    const struct json *required = json_get(schema, "required");
    if (required && required->type != JSON_ARRAY)
        return err_set(err, "%s: required must be a list of names", shown(path));
    json_each (name, required) {
        if (name->type != JSON_STRING)
            return err_set(err, "%s: required must be a list of names", shown(path));
    }
    return 0;
}

static int check_below(const struct json *schema, const char *key, struct strbuf *path, struct err *err)
{
    if (!schema)
        return 0;
    size_t before = enter_member(path, key);
    if (check_schema(schema, path, err))
        return -1;
    strbuf_set_len(path, before);
    return 0;
}

static int check_schema(const struct json *schema, struct strbuf *path, struct err *err)
{
    if (schema->type == JSON_TRUE || schema->type == JSON_FALSE)
        return 0; /* the standard's "anything" and "nothing" */
    if (schema->type != JSON_OBJECT)
        return err_set(err, "%s: a schema must be an object, is %s", shown(path), value_phrase(schema));
    const struct json *type = json_get(schema, "type");
    if ((type && check_type_names(type, path, err)) || check_limits(schema, path, err) ||
        check_lists(schema, path, err))
        return -1;
    const struct json *properties = json_get(schema, "properties");
    if (properties && properties->type != JSON_OBJECT)
        return err_set(err, "%s: properties must be an object", shown(path));
    json_each (property, properties) {
        if (check_below(property, property->key, path, err))
            return -1;
    }
    if (check_below(json_get(schema, "additionalProperties"), "*", path, err))
        return -1;
    return check_below(json_get(schema, "items"), "[]", path, err);
}

int schema_check(const struct json *schema, struct err *err)
{
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    return schema ? check_schema(schema, &path, err) : err_set(err, ROOT ": no schema");
}
