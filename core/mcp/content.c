/* An output is made small by cutting texts at 3,000 characters (compact.h), which would lose the rest of a long one for
 * good. So a long text is handed on as a list of pieces, broken at line ends where there are some: together they are
 * too long to stay inline, and then the whole is kept as an artifact.
 *
 * Pictures and sounds are named and measured, not handed on: nothing here could show them. */

#include "content.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "tools/tool.h"
#include <limits.h>
#include <string.h>

#define PIECE_CHARS 3000

static bool is(const struct json *item, const char *type)
{
    return strcmp(json_str(json_get(item, "type"), ""), type) == 0;
}

/* The text of an item that has some; NULL: it has none. */
static const char *text_of(const struct json *item)
{
    if (is(item, "text"))
        return json_str(json_get(item, "text"), "");
    return is(item, "resource") ? json_str(json_get(json_get(item, "resource"), "text"), NULL) : NULL;
}

void mcp_content_text(const struct json *result, struct strbuf *out)
{
    json_each (item, json_get(result, "content")) {
        const char *text = text_of(item);
        if (text && out->len && out->buf[out->len - 1] != '\n')
            strbuf_addch(out, '\n');
        if (text)
            strbuf_addstr(out, text);
    }
}

static void add_text(struct json_writer *w, const char *text, size_t len)
{
    if (utf8_count(text, len) <= PIECE_CHARS) {
        json_add_strn(w, "text", text, len);
        return;
    }
    json_open(w, "text", '[');
    while (len) {
        size_t piece = utf8_prefix(text, len, PIECE_CHARS);
        const char *end = piece < len ? memrchr(text, '\n', piece) : NULL;
        if (end)
            piece = (size_t)(end - text) + 1;
        json_add_strn(w, NULL, text, piece);
        text += piece;
        len -= piece;
    }
    json_close(w, ']');
}

static void add_known(struct json_writer *w, const struct json *from, const char *key)
{
    const struct json *value = json_get(from, key);
    if (value && value->type == JSON_STRING)
        json_add_str(w, key, value->text);
}

/* What is not text: what it is, and how much. */
static void add_other(struct json_writer *w, const struct json *item)
{
    const struct json *from = is(item, "resource") ? json_get(item, "resource") : item;
    const struct json *data = json_get(from, "data");
    if (!data)
        data = json_get(from, "blob");
    json_open(w, NULL, '{');
    add_known(w, item, "type");
    add_known(w, from, "name");
    add_known(w, from, "uri");
    add_known(w, from, "mimeType");
    if (data && data->type == JSON_STRING)
        json_add_int(w, "bytes", (int64_t)(data->len / 4 * 3));
    json_close(w, '}');
}

static void add_others(struct json_writer *w, const struct json *content)
{
    bool open = false;
    json_each (item, content) {
        if (item->type != JSON_OBJECT || text_of(item))
            continue;
        if (!open)
            json_open(w, "attached", '[');
        open = true;
        add_other(w, item);
    }
    if (open)
        json_close(w, ']');
}

static void reply_failed(struct tool_reply *reply, const char *text)
{
    size_t len = utf8_prefix(text, strlen(text), PIECE_CHARS); /* more of it nobody reads */
    tool_reply_error(reply, "%.*s", *text ? (int)len : INT_MAX, *text ? text : "the tool failed and did not say why");
}

void mcp_content_reply(const struct json *result, struct tool_reply *reply)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct strbuf out = STRBUF_INIT;
    if (!result || result->type != JSON_OBJECT) {
        tool_reply_error(reply, "the server's answer is no result");
        return;
    }
    if (strcmp(json_str(json_get(result, "resultType"), "complete"), "complete") != 0) {
        tool_reply_error(reply, "the server gave no complete answer");
        return;
    }
    mcp_content_text(result, &text);
    if (json_bool(json_get(result, "isError"), false)) {
        reply_failed(reply, text.buf);
        return;
    }
    const struct json *structured = json_get(result, "structuredContent");
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    if (text.len || !structured) /* it is the same twice in most servers: one of them has to do */
        add_text(&w, text.buf, text.len);
    else
        json_add_value(&w, "structured", structured);
    add_others(&w, json_get(result, "content"));
    json_close(&w, '}');
    tool_reply_output(reply, strbuf_detach(&out, NULL));
}
