#include "rpc.h"
#include "base/json.h"
#include <string.h>

static bool is_id(const struct json *id)
{
    return id && (id->type == JSON_NUMBER || id->type == JSON_STRING);
}

struct rpc_message rpc_read(const struct json *value)
{
    struct rpc_message message = {.number = -1};
    const struct json *method = json_get(value, "method"), *id = json_get(value, "id");
    const struct json *result = json_get(value, "result"), *error = json_get(value, "error");
    if (is_id(id)) {
        message.id = id;
        message.number = id->type == JSON_NUMBER ? json_int(id, -1) : -1;
    }
    if (method && method->type == JSON_STRING) {
        message.kind = message.id ? RPC_REQUEST : RPC_NOTIFICATION;
        message.method = method->text;
        message.params = json_get(value, "params");
    } else if (message.id && error && error->type == JSON_OBJECT) {
        message.kind = RPC_ERROR;
        message.code = json_int(json_get(error, "code"), 0);
        message.text = json_str(json_get(error, "message"), "no reason given");
        message.data = json_get(error, "data");
    } else if (message.id && result) {
        message.kind = RPC_RESULT;
        message.result = result;
    }
    return message;
}

const struct json *rpc_parse(struct arena *arena, const char *line, size_t len, struct err *err)
{
    if (json_count_values(line, len) > RPC_VALUES_MAX) {
        err_set(err, "a message of more than %d values", RPC_VALUES_MAX);
        return NULL;
    }
    return json_parse(arena, line, len, err);
}

/* Lines */

static void give_line(const struct rpc_listener *listener, const char *line, size_t len)
{
    while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
        len--;
    if (len)
        listener->line(listener->user, line, len);
}

/* One line, or a piece of one. */
static void take_part(struct rpc_lines *lines, const char *bytes, size_t len, bool ends,
                      const struct rpc_listener *listener)
{
    struct strbuf whole = STRBUF_INIT;
    bool skipping = lines->skipping;
    lines->skipping = skipping && !ends;
    if (skipping)
        return;
    if (lines->held.len + len > RPC_LINE_MAX) {
        lines->skipping = !ends;
        rpc_lines_release(lines); /* its memory too */
        listener->too_long(listener->user);
    } else if (!ends) {
        strbuf_add(&lines->held, bytes, len);
    } else if (!lines->held.len) {
        give_line(listener, bytes, len);
    } else {
        strbuf_add(&lines->held, bytes, len);
        whole = lines->held;
        strbuf_init(&lines->held);
        give_line(listener, whole.buf, whole.len);
    }
    strbuf_release(&whole);
}

void rpc_lines_feed(struct rpc_lines *lines, const char *bytes, size_t len, const struct rpc_listener *listener)
{
    while (len && !(listener->stop && *listener->stop)) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len;
        take_part(lines, bytes, part, end != NULL, listener);
        part += end != NULL;
        bytes += part;
        len -= part;
    }
}

void rpc_lines_release(struct rpc_lines *lines)
{
    strbuf_release(&lines->held);
    strbuf_init(&lines->held);
}

/* Writing */

static struct json_writer begin(struct strbuf *out)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "jsonrpc", "2.0");
    return w;
}

static void end(struct json_writer *w)
{
    json_close(w, '}');
    strbuf_addch(w->out, '\n');
}

void rpc_write_request(struct strbuf *out, int64_t id, const char *method, const char *params)
{
    struct json_writer w = begin(out);
    json_add_int(&w, "id", id);
    json_add_str(&w, "method", method);
    if (params)
        json_add_raw(&w, "params", params);
    end(&w);
}

void rpc_write_notification(struct strbuf *out, const char *method, const char *params)
{
    struct json_writer w = begin(out);
    json_add_str(&w, "method", method);
    if (params)
        json_add_raw(&w, "params", params);
    end(&w);
}

void rpc_write_result(struct strbuf *out, const struct json *id, const char *result)
{
    struct json_writer w = begin(out);
    json_add_value(&w, "id", id);
    json_add_raw(&w, "result", result ? result : "{}");
    end(&w);
}

void rpc_write_error(struct strbuf *out, const struct json *id, int code, const char *text)
{
    struct json_writer w = begin(out);
    json_add_value(&w, "id", id);
    json_open(&w, "error", '{');
    json_add_int(&w, "code", code);
    json_add_str(&w, "message", text);
    json_close(&w, '}');
    end(&w);
}
