/* Reads a case and compares its results. */

#include "vector.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <math.h>
#include <regex.h>

#define SHOWN_MAX 240 /* bytes of a value in a failure */

/* ---- failures ---- */

void vector_fail(struct vector *v, const char *fmt, ...)
{
    va_list args;

    if (v->failures.len)
        strbuf_addstr(&v->failures, "; ");
    va_start(args, fmt);
    strbuf_vaddf(&v->failures, fmt, args);
    va_end(args);
}

/* A value as a failure shows it: JSON, shortened. */
static const char *shown(struct vector *v, const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!value)
        return "nothing";
    json_write(&text, value, JSON_COMPACT);
    if (text.len <= SHOWN_MAX)
        return arena_memdup0(&v->arena, text.buf, text.len);
    return arena_printf(&v->arena, "%.*s… (%zu bytes)", (int)utf8_prefix(text.buf, SHOWN_MAX, SHOWN_MAX / 2), text.buf,
                        text.len);
}

static void fail_value(struct vector *v, const char *name, const struct json *want, const char *relation,
                       const struct json *got)
{
    vector_fail(v, "expected %s%s %s got %s", name, relation, shown(v, want), shown(v, got));
}

/* ---- marks ---- */

static void mark(struct vector *v, char side, const char *name)
{
    hash_map_put(&v->marks, arena_printf(&v->arena, "%c:%s", side, name), 1);
}

static void check_side(struct vector *v, char side, const char *label, const struct json *object)
{
    json_each (member, object) {
        if (!hash_map_has(&v->marks, arena_printf(&v->arena, "%c:%s", side, member->key)))
            vector_fail(v, "expected a member the runner understands got %s.%s = %s", label, member->key,
                        shown(v, member));
    }
}

void vector_check_marks(struct vector *v)
{
    check_side(v, 'i', "input", v->input);
    check_side(v, 'e', "expect", v->expect);
}

/* ---- placeholders ---- */

void vector_bind(struct vector *v, const char *name, const char *text)
{
    if (v->bound_count == COUNT_OF(v->bound))
        BUG("too many placeholders");
    v->bound[v->bound_count][0] = arena_strdup(&v->arena, name);
    v->bound[v->bound_count++][1] = arena_strdup(&v->arena, text);
}

static const char *bound_value(const struct vector *v, const char *name, size_t len)
{
    for (size_t i = 0; i < v->bound_count; i++)
        if (strlen(v->bound[i][0]) == len && memcmp(v->bound[i][0], name, len) == 0)
            return v->bound[i][1];
    return NULL;
}

const char *vector_substitute(struct vector *v, const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    while (*text) {
        const char *end = *text == '<' ? strchr(text, '>') : NULL;
        const char *value = end ? bound_value(v, text + 1, (size_t)(end - text - 1)) : NULL;
        if (value) {
            strbuf_addstr(&out, value);
            text = end + 1;
        } else {
            strbuf_addch(&out, *text++);
        }
    }
    return arena_memdup0(&v->arena, out.buf, out.len);
}

/* ---- input ---- */

const struct json *in_get(struct vector *v, const char *name)
{
    mark(v, 'i', name);
    return json_get(v->input, name);
}

bool in_has(struct vector *v, const char *name)
{
    return in_get(v, name) != NULL;
}

bool in_is_null(struct vector *v, const char *name)
{
    const struct json *value = in_get(v, name);
    return value && value->type == JSON_NULL;
}

static const struct json *in_typed(struct vector *v, const char *name, const char *kind,
                                   bool (*fits)(const struct json *))
{
    const struct json *value = in_get(v, name);
    if (value && !fits(value)) {
        vector_fail(v, "expected input.%s to be %s got %s", name, kind, shown(v, value));
        return NULL;
    }
    return value;
}

static bool is_number(const struct json *value)
{
    return value->type == JSON_NUMBER;
}

static bool is_whole(const struct json *value)
{
    return value->type == JSON_NUMBER && json_int(value, INT64_MIN) != INT64_MIN;
}

static bool is_bool(const struct json *value)
{
    return value->type == JSON_TRUE || value->type == JSON_FALSE || value->type == JSON_NULL;
}

static bool is_text(const struct json *value)
{
    return value->type == JSON_STRING;
}

double in_num(struct vector *v, const char *name, double otherwise)
{
    return json_num(in_typed(v, name, "a number", is_number), otherwise);
}

int64_t in_int(struct vector *v, const char *name, int64_t otherwise)
{
    return json_int(in_typed(v, name, "a whole number", is_whole), otherwise);
}

bool in_bool(struct vector *v, const char *name, bool otherwise)
{
    const struct json *value = in_typed(v, name, "true or false", is_bool);
    return value ? value->type == JSON_TRUE : otherwise;
}

const char *in_text(struct vector *v, const char *name, const char *otherwise)
{
    const struct json *value = in_typed(v, name, "a text", is_text);
    return value ? vector_substitute(v, value->text) : otherwise;
}

void in_only(struct vector *v, const struct json *object, const char *what, const char *const *names)
{
    json_each (member, object) {
        bool known = false;
        for (const char *const *name = names; *name && member->key; name++)
            known = known || strcmp(*name, member->key) == 0;
        if (!known)
            vector_fail(v, "expected a member the runner understands got %s.%s = %s", what,
                        member->key ? member->key : "[]", shown(v, member));
    }
}

void vector_fill_fields(struct vector *v, const struct vector_field *fields, size_t count, void *target)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = fields[i].name;
        void *field = (char *)target + fields[i].offset;
        switch (fields[i].kind) {
        case FIELD_BOOL:
            *(bool *)field = in_bool(v, name, *(bool *)field);
            break;
        case FIELD_INT:
            *(int *)field = (int)in_int(v, name, *(int *)field);
            break;
        case FIELD_INT64:
            *(int64_t *)field = in_int(v, name, *(int64_t *)field);
            break;
        case FIELD_SIZE:
            *(size_t *)field = (size_t)in_int(v, name, (int64_t) * (size_t *)field);
            break;
        case FIELD_DOUBLE:
            *(double *)field = in_num(v, name, *(double *)field);
            break;
        case FIELD_TEXT:
            *(const char **)field = in_is_null(v, name) ? NULL : in_text(v, name, *(const char **)field);
            break;
        }
    }
}

/* ---- comparing ---- */

bool json_same(const struct json *a, const struct json *b)
{
    if (!a || !b || a->type != b->type)
        return a == b;
    switch (a->type) {
    case JSON_NUMBER:
        return strcmp(a->text, b->text) == 0 || json_num(a, NAN) == json_num(b, NAN);
    case JSON_STRING:
        return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
    case JSON_ARRAY:
        if (a->count != b->count)
            return false;
        for (const struct json *x = a->child, *y = b->child; x; x = x->next, y = y->next)
            if (!json_same(x, y))
                return false;
        return true;
    case JSON_OBJECT:
        if (a->count != b->count)
            return false;
        json_each (member, a) {
            if (!json_same(member, json_get(b, member->key)))
                return false;
        }
        return true;
    default:
        return true;
    }
}

/* Compares the expected value with the actual one: placeholders count, null equals missing, and with `part` the actual
 * value may have more. */
static bool fits(struct vector *v, const struct json *want, const struct json *got, bool part)
{
    if (!got && want->type == JSON_NULL)
        return true;
    if (!got || want->type != got->type)
        return false;
    if (want->type == JSON_STRING)
        return strcmp(want->text, "<non-empty>") == 0 ? got->len > 0
                                                      : strcmp(vector_substitute(v, want->text), got->text) == 0;
    if (want->type == JSON_NUMBER) {
        double a = json_num(want, NAN), b = json_num(got, NAN);
        return strcmp(want->text, got->text) == 0 || fabs(a - b) <= 1e-9 * fmax(1, fabs(a));
    }
    if (want->type == JSON_ARRAY) {
        if (want->count != got->count)
            return false;
        for (const struct json *x = want->child, *y = got->child; x; x = x->next, y = y->next)
            if (!fits(v, x, y, part))
                return false;
        return true;
    }
    if (want->type == JSON_OBJECT) {
        if (!part && want->count != got->count)
            return false;
        json_each (member, want) {
            if (!fits(v, member, json_get(got, member->key), part))
                return false;
        }
    }
    return true;
}

const struct json *vector_parse(struct vector *v, const char *json)
{
    struct err err = ERR_INIT;
    const char *copy = arena_strdup(&v->arena, json);
    const struct json *value = json_parse(&v->arena, copy, strlen(copy), &err);
    if (!value)
        BUG("the product made text that is no JSON: %s: %.200s", err.text, json);
    return value;
}

const char *vector_list(struct vector *v, const char *const *texts, size_t count)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < count; i++)
        json_add_str(&w, NULL, texts[i]);
    json_close(&w, ']');
    return arena_memdup0(&v->arena, out.buf, out.len);
}

const struct json *wants(struct vector *v, const char *name)
{
    mark(v, 'e', name);
    return json_get(v->expect, name);
}

void got_value(struct vector *v, const char *name, const struct json *value)
{
    const struct json *want = wants(v, name);
    if (want && !fits(v, want, value, false))
        fail_value(v, name, want, " =", value);
}

void got_json(struct vector *v, const char *name, const char *json)
{
    if (wants(v, name))
        got_value(v, name, vector_parse(v, json));
}

void got_part(struct vector *v, const char *name, const char *json)
{
    const struct json *want = wants(v, name);
    if (want && !fits(v, want, vector_parse(v, json), true))
        fail_value(v, name, want, " =", vector_parse(v, json));
}

void got_bool(struct vector *v, const char *name, bool value)
{
    got_json(v, name, value ? "true" : "false");
}

void got_int(struct vector *v, const char *name, int64_t value)
{
    got_json(v, name, arena_printf(&v->arena, "%lld", (long long)value));
}

void got_num(struct vector *v, const char *name, double value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    json_write_num(&text, value);
    got_json(v, name, text.buf);
}

static const struct json *text_value(struct vector *v, const char *text)
{
    CLEANUP(strbuf) struct strbuf json = STRBUF_INIT;
    if (text)
        json_write_str(&json, text, strlen(text), JSON_COMPACT);
    else
        strbuf_addstr(&json, "null");
    return vector_parse(v, json.buf);
}

void got_text(struct vector *v, const char *name, const char *value)
{
    if (wants(v, name))
        got_value(v, name, text_value(v, value));
}

void got_prefix(struct vector *v, const char *name, const char *text)
{
    const struct json *want = wants(v, name);
    const char *prefix = json_str(want, NULL);
    if (want && (!prefix || !text || strncmp(text, prefix, strlen(prefix)) != 0))
        fail_value(v, name, want, " (its beginning) =", text_value(v, text));
}

static void check_holds(struct vector *v, const char *name, const struct json *part, const char *text)
{
    const char *needle = json_str(part, NULL);
    if (!needle || !text || !strstr(text, vector_substitute(v, needle)))
        fail_value(v, name, part, " to hold", text_value(v, text));
}

void got_has(struct vector *v, const char *name, const char *text)
{
    const struct json *want = wants(v, name);
    if (want && want->type == JSON_STRING) {
        check_holds(v, name, want, text);
        return;
    }
    if (want && want->type != JSON_ARRAY) {
        vector_fail(v, "expected %s to be a text or a list of texts got %s", name, shown(v, want));
        return;
    }
    json_each (part, want) {
        check_holds(v, name, part, text);
    }
}

void got_pattern(struct vector *v, const char *name, const char *text)
{
    const struct json *want = wants(v, name);
    regex_t regex;
    if (!want)
        return;
    if (regcomp(&regex, json_str(want, "["), REG_EXTENDED | REG_NOSUB) != 0) {
        vector_fail(v, "expected %s to be an expression got %s", name, shown(v, want));
        return;
    }
    if (!text || regexec(&regex, text, 0, NULL, 0) != 0)
        fail_value(v, name, want, " to match", text_value(v, text));
    regfree(&regex);
}

/* ---- paths within a value ---- */

static int64_t length_of(const struct json *value)
{
    if (value && value->type == JSON_STRING)
        return (int64_t)utf8_count(value->text, value->len);
    if (value && (value->type == JSON_ARRAY || value->type == JSON_OBJECT))
        return value->count;
    return -1;
}

/* "a.b" within an object; "" is the value itself. */
static const struct json *value_at(struct vector *v, const struct json *value, const char *place, size_t len)
{
    while (value && len > 0) {
        const char *dot = memchr(place, '.', len);
        size_t part = dot ? (size_t)(dot - place) : len;
        if (value->type == JSON_ARRAY && strspn(place, "0123456789") >= part)
            value = json_at(value, strtoul(place, NULL, 10));
        else
            value = json_get(value, arena_memdup0(&v->arena, place, part));
        place += part + (dot ? 1 : 0);
        len -= part + (dot ? 1 : 0);
    }
    return value;
}

static const struct json *last_of(const struct json *container)
{
    const struct json *last = NULL;
    json_each (item, container) {
        last = item;
    }
    return last;
}

static bool got_length(struct vector *v, const char *name, const struct json *value)
{
    int64_t length = length_of(value);
    if (length >= 0)
        got_int(v, name, length);
    return length >= 0;
}

static bool got_key(struct vector *v, const char *name, const struct json *member)
{
    got_text(v, name, member ? member->key : NULL);
    return true;
}

static bool got_item(struct vector *v, const char *name, const struct json *item)
{
    got_value(v, name, item);
    return true;
}

/* The number of members, or a list of their names. */
static bool got_keys(struct vector *v, const char *name, const struct json *object)
{
    const struct json *want = wants(v, name);
    const char **keys = arena_calloc(&v->arena, object->count + 1, sizeof(*keys));
    size_t count = 0;
    if (object->type != JSON_OBJECT || !want || want->type != JSON_ARRAY)
        return got_length(v, name, object);
    json_each (member, object) {
        keys[count++] = member->key;
    }
    got_json(v, name, vector_list(v, keys, count));
    return true;
}

static bool got_aspect(struct vector *v, const char *name, const char *aspect, const struct json *value)
{
    if (strcmp(aspect, "len") == 0 || strcmp(aspect, "chars") == 0)
        return got_length(v, name, value);
    if (strcmp(aspect, "keys") == 0)
        return got_keys(v, name, value);
    if (strcmp(aspect, "first_key") == 0 || strcmp(aspect, "last_key") == 0)
        return got_key(v, name, aspect[0] == 'f' ? value->child : last_of(value));
    if (strcmp(aspect, "first") == 0 || strcmp(aspect, "last") == 0)
        return got_item(v, name, aspect[0] == 'f' ? value->child : last_of(value));
    if (strcmp(aspect, "type") == 0) {
        got_text(v, name, json_type_name(value->type));
        return true;
    }
    return false;
}

bool got_shape(struct vector *v, const char *name, const char *place, const struct json *value)
{
    const struct json *whole = value_at(v, value, place, strlen(place));
    const struct json *want = wants(v, name);
    if (whole && want && want->type == JSON_NUMBER && whole->type != JSON_NUMBER && length_of(whole) >= 0)
        return got_length(v, name, whole);
    if (whole)
        return got_item(v, name, whole);
    /* "a_first_key" is the first_key of a; the path itself may contain underscores too. */
    if (value && got_aspect(v, name, place, value))
        return true;
    for (const char *cut = strchr(place, '_'); cut; cut = strchr(cut + 1, '_')) {
        const struct json *base = value_at(v, value, place, (size_t)(cut - place));
        if (base && got_aspect(v, name, cut + 1, base))
            return true;
    }
    return false;
}

void got_places(struct vector *v, const char *prefix, const struct json *value)
{
    size_t len = strlen(prefix);
    json_each (member, v->expect) {
        if (hash_map_has(&v->marks, arena_printf(&v->arena, "e:%s", member->key)) ||
            strncmp(member->key, prefix, len) != 0)
            continue;
        if (!got_shape(v, member->key, member->key + len, value))
            vector_fail(v, "expected a place in the result got expect.%s, and nothing is there", member->key);
    }
}

void vector_compare_fields(struct vector *v, const struct vector_field *fields, size_t count, const void *source)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = fields[i].name;
        const void *field = (const char *)source + fields[i].offset;
        switch (fields[i].kind) {
        case FIELD_BOOL:
            got_bool(v, name, *(const bool *)field);
            break;
        case FIELD_INT:
            got_int(v, name, *(const int *)field);
            break;
        case FIELD_INT64:
            got_int(v, name, *(const int64_t *)field);
            break;
        case FIELD_SIZE:
            got_int(v, name, (int64_t) * (const size_t *)field);
            break;
        case FIELD_DOUBLE:
            got_num(v, name, *(const double *)field);
            break;
        case FIELD_TEXT:
            got_text(v, name, *(const char *const *)field);
            break;
        }
    }
}
