/* Compaction makes a smaller value out of a value and writes that, so the writer's styles stay in one place. Levels
 * count from 0 for the value itself; containers of levels 0 to 4 are kept, deeper ones become a short text. */

#include "compact.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define STRING_CHARS 3000
#define TOP_ITEMS    200
#define TOP_MEMBERS  80
#define DEEPEST      4

/* A value of the same type and name, still without content. */
static struct json *like(struct arena *arena, const struct json *value)
{
    struct json *copy = arena_alloc(arena, sizeof(*copy));
    *copy = *value;
    copy->next = NULL;
    return copy;
}

static struct json *as_text(struct arena *arena, const struct json *value)
{
    struct json *text = like(arena, value);
    bool object = value->type == JSON_OBJECT;
    text->type = JSON_STRING;
    text->child = NULL;
    text->count = 0;
    text->text = object ? arena_printf(arena, "[object with %u member%s]", value->count, value->count == 1 ? "" : "s")
                        : arena_printf(arena, "[list of %u]", value->count);
    text->len = strlen(text->text);
    return text;
}

static struct json *cut_string(struct arena *arena, const struct json *value)
{
    struct json *text = like(arena, value);
    size_t bytes = utf8_prefix(value->text, value->len, STRING_CHARS);
    if (bytes < value->len) {
        text->text = arena_memdup0(arena, value->text, bytes);
        text->len = bytes;
    }
    return text;
}

static struct json *cut_value(struct arena *arena, const struct json *value, unsigned level);

/* The first `most` children; `whole` ones stay as they are, others are made small as values of the next level. */
static struct json *cut_container(struct arena *arena, const struct json *value, uint32_t most, bool whole,
                                  unsigned level)
{
    struct json *container = like(arena, value);
    const struct json **link = &container->child;
    container->child = NULL;
    container->count = 0;
    json_each (item, value) {
        if (container->count == most)
            break;
        struct json *copy = whole ? like(arena, item) : cut_value(arena, item, level + 1);
        *link = copy;
        link = &copy->next;
        container->count++;
    }
    return container;
}

static struct json *cut_value(struct arena *arena, const struct json *value, unsigned level)
{
    switch (value->type) {
    case JSON_STRING:
        return cut_string(arena, value);
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (level > DEEPEST)
            return as_text(arena, value);
        if (level > 0)
            return cut_container(arena, value, UINT32_MAX, false, level);
        return cut_container(arena, value, value->type == JSON_ARRAY ? TOP_ITEMS : TOP_MEMBERS, false, level);
    default:
        return like(arena, value);
    }
}

/* An object with a list of entries: the list is what is long, so it alone is cut. */
static struct json *cut_entries(struct arena *arena, const struct json *object, const struct json *entries)
{
    struct json *copy = like(arena, object);
    const struct json **link = &copy->child;
    copy->child = NULL;
    json_each (member, object) {
        struct json *item = member == entries ? cut_container(arena, member, TOP_ITEMS, true, 0) : like(arena, member);
        *link = item;
        link = &item->next;
    }
    return copy;
}

void compact_write(struct strbuf *out, const struct json *value, unsigned style)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *entries = json_get(value, "entries");
    if (!value)
        json_write(out, NULL, style);
    else if (entries && entries->type == JSON_ARRAY && entries->count <= TOP_ITEMS)
        json_write(out, value, style); /* nothing to cut: the common case, and no copy is made of it */
    else if (entries && entries->type == JSON_ARRAY)
        json_write(out, cut_entries(&arena, value, entries), style);
    else
        json_write(out, cut_value(&arena, value, 0), style);
}

bool compact_is_short(const char *text, size_t len)
{
    if (len * 6 <= COMPACT_INLINE_MAX) /* at the very worst each byte is written as \u007f */
        return true;
    if (len * 2 > COMPACT_INLINE_MAX) /* and at the least spaces are added behind separators */
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x7F)
            return false;
    return true;
}

size_t compact_length(const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    compact_write(&text, value, JSON_PYTHON);
    return text.len; /* ASCII: bytes are characters */
}
