/* Expands the notation of vector files: short forms of long values. A value that contains one is rebuilt node by node,
 * so that it can be longer and deeper than a text that a person would write. */

#include "base/mem.h"
#include "vector.h"

static struct json *new_node(struct arena *arena, enum json_type type, const char *key)
{
    struct json *node = arena_calloc(arena, 1, sizeof(*node));
    node->type = type;
    node->key = key;
    return node;
}

static struct json *new_string(struct arena *arena, const char *key, char *text, size_t len)
{
    struct json *node = new_node(arena, JSON_STRING, key);
    node->text = text;
    node->len = len;
    return node;
}

static struct json *new_number(struct arena *arena, const char *key, int64_t number)
{
    struct json *node = new_node(arena, JSON_NUMBER, key);
    node->text = arena_printf(arena, "%lld", (long long)number);
    node->len = strlen(node->text);
    return node;
}

/* Appends to a container under construction; `last` is the position of the next one. */
static void append(struct json *container, const struct json ***last, struct json *item)
{
    if (!*last)
        *last = &container->child;
    **last = item;
    *last = (const struct json **)&item->next;
    container->count++;
}

static char *repeat_text(struct arena *arena, const char *text, size_t len, size_t times)
{
    char *out = arena_alloc(arena, len * times + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(out + i * len, text, len);
    out[len * times] = '\0';
    return out;
}

static struct json *expand(struct arena *arena, const struct json *value, struct err *err);

static struct json *make_repeat(struct arena *arena, const struct json *what, size_t times, struct err *err)
{
    const struct json **last = NULL;
    if (what->type == JSON_STRING)
        return new_string(arena, NULL, repeat_text(arena, what->text, what->len, times), what->len * times);
    struct json *list = new_node(arena, JSON_ARRAY, NULL);
    for (size_t i = 0; i < times; i++) {
        struct json *item = expand(arena, what, err);
        if (!item)
            return NULL;
        append(list, &last, item);
    }
    return list;
}

static struct json *make_range(struct arena *arena, size_t count)
{
    struct json *list = new_node(arena, JSON_ARRAY, NULL);
    const struct json **last = NULL;
    for (size_t i = 0; i < count; i++)
        append(list, &last, new_number(arena, NULL, (int64_t)i));
    return list;
}

static struct json *make_keys(struct arena *arena, size_t count)
{
    struct json *object = new_node(arena, JSON_OBJECT, NULL);
    const struct json **last = NULL;
    for (size_t i = 0; i < count; i++)
        append(object, &last, new_number(arena, arena_printf(arena, "k%02zu", i), (int64_t)i));
    return object;
}

static struct json *make_nest(struct arena *arena, size_t depth)
{
    struct json *inner = new_number(arena, NULL, 1);
    for (size_t i = 0; i < depth; i++) {
        struct json *object = new_node(arena, JSON_OBJECT, NULL);
        inner->key = "n";
        object->child = inner;
        object->count = 1;
        inner = object;
    }
    return inner;
}

static struct json *make_records(struct arena *arena, size_t count, size_t len)
{
    struct json *list = new_node(arena, JSON_ARRAY, NULL);
    const struct json **last = NULL;
    for (size_t i = 0; i < count; i++) {
        struct json *record = new_node(arena, JSON_OBJECT, NULL);
        const struct json **end = NULL;
        append(record, &end, new_number(arena, "id", (int64_t)i));
        append(record, &end, new_string(arena, "text", repeat_text(arena, "x", 1, len), len));
        append(list, &last, record);
    }
    return list;
}

/* A count, or -1. */
static int64_t count_of(const struct json *value)
{
    int64_t count = json_int(value, -1);
    return count >= 0 && count <= 10000000 ? count : -1;
}

static struct json *expand_notation(struct arena *arena, const struct json *member, struct err *err)
{
    int64_t n = count_of(member);
    int64_t first = count_of(json_at(member, 0)), second = count_of(json_at(member, 1));
    bool pair = member->type == JSON_ARRAY && member->count == 2;
    if (strcmp(member->key, "$repeat") == 0 && pair && second >= 0)
        return make_repeat(arena, json_at(member, 0), (size_t)second, err);
    if (strcmp(member->key, "$range") == 0 && n >= 0)
        return make_range(arena, (size_t)n);
    if (strcmp(member->key, "$keys") == 0 && n >= 0)
        return make_keys(arena, (size_t)n);
    if (strcmp(member->key, "$nest") == 0 && n >= 0)
        return make_nest(arena, (size_t)n);
    if (strcmp(member->key, "$records") == 0 && pair && first >= 0 && second >= 0)
        return make_records(arena, (size_t)first, (size_t)second);
    err_set(err, "the notation %s is not understood", member->key);
    return NULL;
}

static struct json *expand(struct arena *arena, const struct json *value, struct err *err)
{
    struct json *copy;
    const struct json **last = NULL;
    if (value->type == JSON_OBJECT && value->count == 1 && value->child->key[0] == '$') {
        copy = expand_notation(arena, value->child, err);
        if (copy)
            copy->key = value->key;
        return copy;
    }
    copy = arena_alloc(arena, sizeof(*copy));
    *copy = *value;
    copy->next = NULL;
    copy->child = NULL;
    copy->count = 0;
    json_each (item, value) {
        struct json *part = expand(arena, item, err);
        if (!part)
            return NULL;
        append(copy, &last, part);
    }
    return copy;
}

const struct json *vector_expand(struct arena *arena, const struct json *value, struct err *err)
{
    return expand(arena, value, err);
}
