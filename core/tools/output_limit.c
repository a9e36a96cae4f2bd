/* Keeps the output of a tool within the limit for the model: measures, cuts, pages, and stores the rest.
 *
 * output_limit_write builds a smaller value and writes that, so that only the writer knows about styles. Levels count
 * from 0 for the value itself; containers of levels 0 to 4 are kept, deeper ones become a short text. */

#include "output_limit.h"
#include "artifact.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "sandbox/process_output.h"
#include "tool.h"
#include "workspace/versions.h"

#define STRING_CHARS 3000
#define TOP_ITEMS    200
#define TOP_MEMBERS  80
#define DEEPEST      4

/* An empty value of the same type and name. */
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

/* The first `most` children; `whole` ones stay as they are, others are shortened as values of the next level. */
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

/* In an object with a list of entries only the list is cut, because the list is the long part. */
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

void output_limit_write(struct strbuf *out, const struct json *value, unsigned style)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *entries = json_get(value, "entries");
    if (!value)
        json_write(out, NULL, style);
    else if (entries && entries->type == JSON_ARRAY && entries->count <= TOP_ITEMS)
        json_write(out, value, style); /* the common case: nothing to cut, so no copy */
    else if (entries && entries->type == JSON_ARRAY)
        json_write(out, cut_entries(&arena, value, entries), style);
    else
        json_write(out, cut_value(&arena, value, 0), style);
}

/* True if a text of output_limit_write in JSON_COMPACT is certainly within the limit, without measuring it. */
static bool output_limit_is_short(const char *text, size_t len)
{
    if (len * 6 <= OUTPUT_LIMIT_INLINE_MAX) /* in the worst case each byte is written as \u007f */
        return true;
    if (len * 2 > OUTPUT_LIMIT_INLINE_MAX) /* in the best case spaces are added after separators */
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] >= 0x7F)
            return false;
    return true;
}

size_t output_limit_length(const struct json *value)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    output_limit_write(&text, value, JSON_PYTHON);
    return text.len; /* ASCII: bytes are characters */
}

/* ---- output ---- */

#define CONFIRMATION   "Write confirmation required"
#define SENTENCE_CHARS 3000

/* Whether a foreign tool asks for approval: `needs_confirmation` is true, or `error` or `message` is exactly "Write
 * confirmation required". */
static bool output_wants_confirmation(const struct json *output)
{
    return json_bool(json_get(output, "needs_confirmation"), false) ||
           strcmp(json_str(json_get(output, "error"), ""), CONFIRMATION) == 0 ||
           strcmp(json_str(json_get(output, "message"), ""), CONFIRMATION) == 0;
}

char *output_sentence(const char *text)
{
    if (!text || !*text)
        return xstrdup("the tool failed without a message");
    return xmemdup0(text, utf8_prefix(text, strlen(text), SENTENCE_CHARS));
}

/* The text of an output with `status` "error", short enough for a message; NULL for any other. */
static char *output_error(const struct json *output)
{
    if (strcmp(json_str(json_get(output, "status"), ""), "error") != 0)
        return NULL;
    const struct json *error = json_get(output, "error");
    if (!error || error->type == JSON_NULL)
        error = json_get(output, "message");
    if (!error || error->type == JSON_STRING)
        return output_sentence(json_str(error, NULL));
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    json_write(&text, error, JSON_COMPACT);
    return output_sentence(text.buf);
}

/* Adds a member `approval` with decision_note's text: which parts of the proposal were written. An output that is no
 * object becomes the member `output`. */
static void output_add_approval(struct strbuf *out, const struct json *output, const char *note)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    if (output->type != JSON_OBJECT)
        json_add_value(&w, "output", output);
    else
        json_each (member, output)
            if (strcmp(member->key, "approval") != 0)
                json_add_value(&w, member->key, member);
    json_add_raw(&w, "approval", note);
    json_close(&w, '}');
}

static void output_cut(struct strbuf *out, const struct json *output);

static void make_long(struct output_shape *shape, const struct json *value)
{
    struct strbuf cut = STRBUF_INIT, whole = STRBUF_INIT;
    output_cut(&cut, value);
    json_write(&whole, value, JSON_PRETTY);
    strbuf_addch(&whole, '\n');
    shape->cut = strbuf_detach(&cut, NULL);
    shape->whole_len = whole.len;
    shape->whole = strbuf_detach(&whole, NULL);
}

void output_shape_make(struct output_shape *shape, char **output)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf small = STRBUF_INIT;
    struct err err = ERR_INIT;
    size_t len = *output ? strlen(*output) : 0;
    const struct json *value = json_parse(&arena, *output ? *output : "", len, &err);
    output_shape_release(shape);
    shape->made = true;
    if (!value) {
        shape->fault = xasprintf("the tool's output is not JSON: %s", err.text);
        return;
    }
    shape->wants_confirmation = output_wants_confirmation(value);
    shape->error = output_error(value);
    strbuf_grow(&small, len < OUTPUT_LIMIT_INLINE_MAX ? len : OUTPUT_LIMIT_INLINE_MAX);
    output_limit_write(&small, value, JSON_COMPACT);
    if (!output_limit_is_short(small.buf, small.len) && output_limit_length(value) > OUTPUT_LIMIT_INLINE_MAX) {
        make_long(shape, value);
        return;
    }
    /* Nothing was left out, not even white space, so it is the same text. */
    shape->text = small.len == len ? steal(output) : strbuf_detach(&small, NULL);
}

void output_shape_approve(struct output_shape *shape, char **output, const char *note)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct strbuf noted = STRBUF_INIT;
    if (shape->fault || shape->error || shape->wants_confirmation)
        return;
    const char *text = shape->text ? shape->text : *output;
    output_add_approval(&noted, json_parse(&arena, text, strlen(text), NULL), note);
    free(*output);
    *output = strbuf_detach(&noted, NULL);
    output_shape_make(shape, output);
}

void output_shape_release(struct output_shape *shape)
{
    free(shape->cut);
    free(shape->whole);
    free(shape->fault);
    free(shape->error);
    free(shape->text);
    *shape = (struct output_shape){0};
}

/* Bytes of `text` whose characters take at most `room` characters between quotes, with everything but ASCII escaped. */
static size_t fitting(const char *text, size_t len, size_t room)
{
    size_t at = 0;
    while (at < len) {
        size_t used;
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        size_t cost = cp >= 0x10000 ? 12 : cp >= 0x7F || cp < 0x20 ? 6 : cp == '"' || cp == '\\' ? 2 : 1;
        if (cost > room)
            break;
        room -= cost;
        at += used;
    }
    return at;
}

/* An output that is too long and cannot be stored: valid JSON of at most OUTPUT_LIMIT_INLINE_MAX characters. */
static void output_cut(struct strbuf *out, const struct json *output)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    output_limit_write(&text, output, JSON_COMPACT);
    strbuf_addf(&note, "the output has %zu characters; only the beginning is shown; storing the rest failed",
                utf8_count(text.buf, text.len));
    /* The frame is measured with Python's spacing, like the limit. */
    size_t frame = strlen("{\"truncated\": true, \"note\": \"\", \"text\": \"\"}") + note.len;
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_bool(&w, "truncated", true);
    json_add_str(&w, "note", note.buf);
    json_add_strn(&w, "text", text.buf, fitting(text.buf, text.len, OUTPUT_LIMIT_INLINE_MAX - frame));
    json_close(&w, '}');
}

/* ---- page ---- */

/* Measuring uses the writer itself, which alone knows the cost of a character. */

#define MARGIN   600 /* for the members around the entries */
#define ROOM_MIN 1000

size_t output_limit_cost(const char *text, size_t len)
{
    return json_str_length(text, len, JSON_PYTHON);
}

size_t output_limit_room(const char *about)
{
    size_t taken = output_limit_cost(about, strlen(about)) + MARGIN;
    return taken + ROOM_MIN < OUTPUT_LIMIT_INLINE_MAX ? OUTPUT_LIMIT_INLINE_MAX - taken : ROOM_MIN;
}

size_t page_fitting(const char *text, size_t len, size_t room)
{
    for (;;) {
        size_t cost = output_limit_cost(text, len);
        if (cost <= room || len <= 4)
            return len;
        size_t less = len * room / cost;
        len = less < len ? less : len - 1;
        while (len > 1 && ((unsigned char)text[len] & 0xC0) == 0x80)
            len--;
        if (len == 0)
            len = 1;
    }
}

/* ---- long text ---- */

/* As much of the head and the tail as fits into the room. */
static void shorten(struct strbuf *shown, const char *text, size_t len, size_t room)
{
    CLEANUP(strbuf) struct strbuf ends = STRBUF_INIT;
    if (len > 4 * room) { /* the middle is not shown, whatever its characters cost */
        strbuf_add(&ends, text, 2 * room);
        strbuf_add(&ends, text + len - 2 * room, 2 * room);
        text = ends.buf;
        len = ends.len;
    }
    size_t fits = sizeof(WINDOW_MARK), most = room;
    while (fits < most) {
        size_t max = fits + (most - fits + 1) / 2;
        strbuf_reset(shown);
        window_text(shown, text, len, max);
        if (output_limit_cost(shown->buf, shown->len) <= room)
            fits = max;
        else
            most = max - 1;
    }
    strbuf_reset(shown);
    window_text(shown, text, len, fits);
}

void output_limit_add_cut(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                          size_t room, uint64_t total, const struct artifact *kept)
{
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    CLEANUP(free) char *truncated = xasprintf("%struncated", prefix), *bytes = xasprintf("%stotal_bytes", prefix);
    shorten(&shown, text, len, room);
    json_add_strn(w, key, shown.buf, shown.len);
    json_add_bool(w, truncated, true);
    json_add_int(w, bytes, (int64_t)total);
    if (kept) {
        CLEANUP(free) char *where = xasprintf("%sartifact", prefix), *ref = xasprintf(ARTIFACT_SCHEME "%s", kept->id);
        json_add_str(w, where, ref);
    }
}

void output_limit_add_text(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                           size_t room, const struct tool_env *env, const char *tool)
{
    if (len <= room && output_limit_cost(text, len) <= room) {
        json_add_strn(w, key, text, len);
        return;
    }
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    utf8_scrub(&whole, text, len);
    struct artifact *kept =
        env->artifacts ? artifact_store_put(env->artifacts, env->session, tool, whole.buf, whole.len) : NULL;
    output_limit_add_cut(w, key, prefix, text, len, room, len, kept);
    artifact_free(kept);
}
