#include "output.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "compact.h"

#define CONFIRMATION   "Write confirmation required"
#define SENTENCE_CHARS 3000

bool output_wants_confirmation(const struct json *output)
{
    return json_bool(json_get(output, "needs_confirmation"), false) ||
           strcmp(json_str(json_get(output, "error"), ""), CONFIRMATION) == 0 ||
           strcmp(json_str(json_get(output, "message"), ""), CONFIRMATION) == 0;
}

char *output_sentence(const char *text)
{
    if (!text || !*text)
        return xstrdup("the tool failed and did not say why");
    return xmemdup0(text, utf8_prefix(text, strlen(text), SENTENCE_CHARS));
}

char *output_error(const struct json *output)
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

void output_add_approval(struct strbuf *out, const struct json *output, const char *note)
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
    strbuf_grow(&small, len < COMPACT_INLINE_MAX ? len : COMPACT_INLINE_MAX);
    compact_write(&small, value, JSON_COMPACT);
    if (!compact_is_short(small.buf, small.len) && compact_length(value) > COMPACT_INLINE_MAX) {
        make_long(shape, value);
        return;
    }
    /* Nothing was left out, not even white space: then it is the same text. */
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

/* Bytes of `text` whose characters take at most `room` places between quotes when everything but ASCII is escaped. */
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

void output_cut(struct strbuf *out, const struct json *output)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    compact_write(&text, output, JSON_COMPACT);
    strbuf_addf(&note, "the output has %zu characters; only its beginning is here, the whole could not be kept",
                utf8_count(text.buf, text.len));
    /* The frame is counted as Python would space it, as the limit is (D38). */
    size_t frame = strlen("{\"truncated\": true, \"note\": \"\", \"text\": \"\"}") + note.len;
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_bool(&w, "truncated", true);
    json_add_str(&w, "note", note.buf);
    json_add_strn(&w, "text", text.buf, fitting(text.buf, text.len, COMPACT_INLINE_MAX - frame));
    json_close(&w, '}');
}
