/* Exchanges JSON-RPC messages with one MCP server: requests, answers, and lines.
 *
 * Open requests are in a list, each with its own timer. A request leaves the list before its callback is called, so a
 * callback may do anything, even free the peer. Therefore a loop over the list restarts after each call. The peer's
 * memory stays until none of its functions is running.
 *
 * A hostile server costs little. RPC_LINE_MAX bounds the length of lines. A line that is too long fails all open
 * requests, because the peer cannot tell which one it answers. The peer stops reading from a server that sends too many
 * unrequested messages. */

#include "peer.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include <string.h>

#define NOISE_MAX   1000  /* lines that are not a message, or answer no request */
#define UNASKED_MAX 20000 /* requests and notifications of the server within UNASKED_US */
#define UNASKED_US  (10 * 1000000)
#define BATCH_MAX   1000

struct peer_request {
    struct peer_request *next;
    struct mcp_peer *peer;
    int64_t id;
    mcp_answered *answered;
    void *user;
    struct loop_timer timer;
    int64_t limit_us;
};

struct mcp_peer {
    struct loop *loop;
    const struct mcp_peer_ops *ops;
    void *user;
    struct rpc_lines lines;
    struct peer_request *requests;
    int64_t next_id;
    size_t noise, unasked;
    int64_t unasked_since_us;
    bool stopped;
    bool dead;     /* its owner has freed it… */
    unsigned busy; /* …from within a callback: the last of them to return frees the memory */
};

struct mcp_peer *mcp_peer_new(struct loop *loop, const struct mcp_peer_ops *ops, void *user)
{
    struct mcp_peer *peer = xcalloc(1, sizeof(*peer));
    peer->loop = loop;
    peer->ops = ops;
    peer->user = user;
    peer->next_id = 1;
    peer->lines = (struct rpc_lines)RPC_LINES_INIT;
    return peer;
}

static struct peer_request *take_request(struct mcp_peer *peer, int64_t id)
{
    struct peer_request **place = &peer->requests;
    while (*place && (*place)->id != id)
        place = &(*place)->next;
    struct peer_request *request = *place;
    if (request) {
        *place = request->next;
        loop_timer_stop(peer->loop, &request->timer);
    }
    return request;
}

static void peer_leave(struct mcp_peer *peer)
{
    if (--peer->busy || !peer->dead)
        return;
    rpc_lines_release(&peer->lines);
    free(peer);
}

void mcp_peer_free(struct mcp_peer *peer)
{
    if (!peer)
        return;
    while (peer->requests)
        free(take_request(peer, peer->requests->id));
    peer->dead = peer->stopped = true;
    peer->busy++;
    peer_leave(peer);
}

static void end_request(struct peer_request *take_request, const struct rpc_message *answer, const char *why)
{
    struct peer_request request = *take_request;
    free(take_request);
    request.answered(request.user, answer, why);
}

static void timed_out(struct loop_timer *timer)
{
    struct peer_request *request = CONTAINER_OF(timer, struct peer_request, timer);
    CLEANUP(free) char *why = xasprintf("no answer within %.3g s", (double)request->limit_us / 1e6);
    end_request(take_request(request->peer, request->id), NULL, why);
}

static void rpc_write_request(struct strbuf *out, int64_t id, const char *method, const char *params);
static void rpc_write_notification(struct strbuf *out, const char *method, const char *params);
static void rpc_write_result(struct strbuf *out, const struct json *id, const char *result);
static void rpc_write_error(struct strbuf *out, const struct json *id, int code, const char *text);

int64_t mcp_peer_ask(struct mcp_peer *peer, const char *method, const char *params, int64_t timeout_us,
                     mcp_answered *answered, void *user)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct peer_request *request = xcalloc(1, sizeof(*request));
    *request = (struct peer_request){.next = peer->requests,
                                     .peer = peer,
                                     .id = peer->next_id++,
                                     .answered = answered,
                                     .user = user,
                                     .limit_us = timeout_us};
    peer->requests = request;
    loop_timer_start(peer->loop, &request->timer, loop_now_us(peer->loop) + timeout_us, timed_out);
    rpc_write_request(&line, request->id, method, params);
    peer->ops->send(peer->user, line.buf, line.len);
    return request->id;
}

void mcp_peer_forget(struct mcp_peer *peer, int64_t id)
{
    free(take_request(peer, id));
}

void mcp_peer_fail(struct mcp_peer *peer, const char *why)
{
    int64_t next_id = peer->next_id; /* skip requests that a callback adds */
    peer->busy++;
    for (struct peer_request *request = peer->requests; request;) {
        if (request->id < next_id) {
            end_request(take_request(peer, request->id), NULL, why);
            request = peer->requests;
        } else {
            request = request->next;
        }
    }
    peer_leave(peer);
}

void mcp_peer_tell(struct mcp_peer *peer, const char *method, const char *params)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    rpc_write_notification(&line, method, params);
    peer->ops->send(peer->user, line.buf, line.len);
}

void mcp_peer_answer(struct mcp_peer *peer, const struct json *id, const char *result)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    rpc_write_result(&line, id, result);
    peer->ops->send(peer->user, line.buf, line.len);
}

void mcp_peer_refuse(struct mcp_peer *peer, const struct json *id, int code, const char *text)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    rpc_write_error(&line, id, code, text);
    peer->ops->send(peer->user, line.buf, line.len);
}

/* ---- incoming messages ---- */

static void break_off(struct mcp_peer *peer, const char *why)
{
    if (peer->stopped)
        return;
    peer->stopped = true;
    peer->ops->broken(peer->user, why);
}

static void take_noise(struct mcp_peer *peer, const char *text, size_t len)
{
    peer->ops->noise(peer->user, text, len);
    if (++peer->noise > NOISE_MAX)
        break_off(peer, "it keeps printing text that is not JSON-RPC to its standard output");
}

static void take_unasked(struct mcp_peer *peer, const struct rpc_message *message)
{
    int64_t now_us = loop_now_us(peer->loop);
    if (now_us - peer->unasked_since_us > UNASKED_US) {
        peer->unasked_since_us = now_us;
        peer->unasked = 0;
    }
    if (++peer->unasked > UNASKED_MAX)
        break_off(peer, "it sends too many unrequested messages");
    else
        peer->ops->heard(peer->user, message);
}

static struct rpc_message rpc_read(const struct json *value);

static void take_message(struct mcp_peer *peer, const struct json *value, const char *line, size_t len, bool whole)
{
    struct rpc_message message = rpc_read(value);
    message.line = whole ? line : NULL;
    message.line_len = whole ? len : 0;
    if (message.kind == RPC_REQUEST || message.kind == RPC_NOTIFICATION) {
        take_unasked(peer, &message);
        return;
    }
    struct peer_request *request = message.kind == RPC_NONE ? NULL : take_request(peer, message.number);
    if (request)
        end_request(request, &message, NULL);
    else if (message.kind == RPC_NONE || message.number < 1 || message.number >= peer->next_id)
        take_noise(peer, line, len); /* otherwise an answer to a request that was dropped */
}

static void take_line(void *user, const char *line, size_t len)
{
    struct mcp_peer *peer = user;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct json *value = rpc_parse(&arena, line, len, &err);
    if (!value || (value->type == JSON_ARRAY && len > RPC_LONG)) {
        take_noise(peer, line, len);
    } else if (value->type != JSON_ARRAY) {
        take_message(peer, value, line, len, true);
    } else { /* a batch, which one version of the protocol allowed */
        size_t taken = 0;
        json_each (item, value) {
            if (peer->stopped || taken++ == BATCH_MAX)
                break;
            take_message(peer, item, line, len, false);
        }
    }
}

static void line_too_long(void *user)
{
    struct mcp_peer *peer = user;
    CLEANUP(free) char *why = xasprintf("the server sent a line of more than %zu MB", RPC_LINE_MAX >> 20);
    mcp_peer_fail(peer, why);
    if (!peer->stopped)
        take_noise(peer, why, strlen(why));
}

void mcp_peer_receive(struct mcp_peer *peer, const char *bytes, size_t len)
{
    struct rpc_listener listener = {take_line, line_too_long, &peer->stopped, peer};
    peer->busy++;
    rpc_lines_feed(&peer->lines, bytes, len, &listener);
    peer_leave(peer);
}

static bool is_id(const struct json *id)
{
    return id && (id->type == JSON_NUMBER || id->type == JSON_STRING);
}

/* Determines the kind of a message; RPC_NONE if the value is not one. */
static struct rpc_message rpc_read(const struct json *value)
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

/* ---- lines ---- */

static void give_line(const struct rpc_listener *listener, const char *line, size_t len)
{
    while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
        len--;
    if (len)
        listener->line(listener->user, line, len);
}

/* Takes one line, or a piece of one. */
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
        rpc_lines_release(lines); /* frees its memory too */
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

/* ---- writing ---- */

static struct json_writer begin_line(struct strbuf *out)
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

/* Appends a whole line. `params` and `result` are JSON texts on one line; NULL: none, or {}. */
static void rpc_write_request(struct strbuf *out, int64_t id, const char *method, const char *params)
{
    struct json_writer w = begin_line(out);
    json_add_int(&w, "id", id);
    json_add_str(&w, "method", method);
    if (params)
        json_add_raw(&w, "params", params);
    end(&w);
}

static void rpc_write_notification(struct strbuf *out, const char *method, const char *params)
{
    struct json_writer w = begin_line(out);
    json_add_str(&w, "method", method);
    if (params)
        json_add_raw(&w, "params", params);
    end(&w);
}

static void rpc_write_result(struct strbuf *out, const struct json *id, const char *result)
{
    struct json_writer w = begin_line(out);
    json_add_value(&w, "id", id);
    json_add_raw(&w, "result", result ? result : "{}");
    end(&w);
}

static void rpc_write_error(struct strbuf *out, const struct json *id, int code, const char *text)
{
    struct json_writer w = begin_line(out);
    json_add_value(&w, "id", id);
    json_open(&w, "error", '{');
    json_add_int(&w, "code", code);
    json_add_str(&w, "message", text);
    json_close(&w, '}');
    end(&w);
}
