/* Requests stand in a list, each with a timer of its own. A request leaves the list before its callback is called, so
 * that a callback may do anything, free the peer too: whoever goes through the list begins anew after each call, and
 * the memory of a peer stays until nothing of ours is under way in it.
 *
 * A hostile server costs little: lines are bounded by rpc.h, one that is too long ends what is open (nobody can tell
 * whom it would have answered), and who says too much that nobody asked for is not listened to any more. */

#include "peer.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"

#define NOISE_MAX   1000  /* lines that are no message, or answer nothing */
#define UNASKED_MAX 20000 /* requests and notifications of theirs within UNASKED_US */
#define UNASKED_US  (10 * 1000000)
#define BATCH_MAX   1000

struct request {
    struct request *next;
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
    struct request *requests;
    int64_t next_id;
    size_t noise, unasked;
    int64_t unasked_since_us;
    bool stopped;
    bool dead;     /* freed by its owner… */
    unsigned busy; /* …from within a callback: it goes when the last of them has returned */
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

static struct request *take_request(struct mcp_peer *peer, int64_t id)
{
    struct request **place = &peer->requests;
    while (*place && (*place)->id != id)
        place = &(*place)->next;
    struct request *request = *place;
    if (request) {
        *place = request->next;
        loop_timer_stop(peer->loop, &request->timer);
    }
    return request;
}

static void leave(struct mcp_peer *peer)
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
    leave(peer);
}

static void end_request(struct request *take_request, const struct rpc_message *answer, const char *why)
{
    struct request request = *take_request;
    free(take_request);
    request.answered(request.user, answer, why);
}

static void timed_out(struct loop_timer *timer)
{
    struct request *request = CONTAINER_OF(timer, struct request, timer);
    CLEANUP(free) char *why = xasprintf("no answer within %.3g s", (double)request->limit_us / 1e6);
    end_request(take_request(request->peer, request->id), NULL, why);
}

int64_t mcp_peer_ask(struct mcp_peer *peer, const char *method, const char *params, int64_t timeout_us,
                     mcp_answered *answered, void *user)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct request *request = xcalloc(1, sizeof(*request));
    *request = (struct request){.next = peer->requests,
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
    int64_t next_id = peer->next_id; /* what is asked meanwhile is none of them */
    peer->busy++;
    for (struct request *request = peer->requests; request;) {
        if (request->id < next_id) {
            end_request(take_request(peer, request->id), NULL, why);
            request = peer->requests;
        } else {
            request = request->next;
        }
    }
    leave(peer);
}

size_t mcp_peer_open(const struct mcp_peer *peer)
{
    size_t count = 0;
    for (const struct request *request = peer->requests; request; request = request->next)
        count++;
    return count;
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

/* What comes in */

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
        break_off(peer, "it keeps writing what is no message of the protocol to its standard output");
}

static void take_unasked(struct mcp_peer *peer, const struct rpc_message *message)
{
    int64_t now_us = loop_now_us(peer->loop);
    if (now_us - peer->unasked_since_us > UNASKED_US) {
        peer->unasked_since_us = now_us;
        peer->unasked = 0;
    }
    if (++peer->unasked > UNASKED_MAX)
        break_off(peer, "it says too much that nobody asked for");
    else
        peer->ops->heard(peer->user, message);
}

static void take_message(struct mcp_peer *peer, const struct json *value, const char *line, size_t len, bool whole)
{
    struct rpc_message message = rpc_read(value);
    message.line = whole ? line : NULL;
    message.line_len = whole ? len : 0;
    if (message.kind == RPC_REQUEST || message.kind == RPC_NOTIFICATION) {
        take_unasked(peer, &message);
        return;
    }
    struct request *request = message.kind == RPC_NONE ? NULL : take_request(peer, message.number);
    if (request)
        end_request(request, &message, NULL);
    else if (message.kind == RPC_NONE || message.number < 1 || message.number >= peer->next_id)
        take_noise(peer, line, len); /* else an answer that came too late for whoever asked */
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
    } else { /* several at once, as one version of the protocol had it */
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
    CLEANUP(free) char *why = xasprintf("the server sent a line of more than %zu MiB", RPC_LINE_MAX >> 20);
    mcp_peer_fail(peer, why);
    if (!peer->stopped)
        take_noise(peer, why, strlen(why));
}

void mcp_peer_receive(struct mcp_peer *peer, const char *bytes, size_t len)
{
    struct rpc_listener listener = {take_line, line_too_long, &peer->stopped, peer};
    peer->busy++;
    rpc_lines_feed(&peer->lines, bytes, len, &listener);
    leave(peer);
}
