#pragma once
/* One conversation with a tool server: requests that each end once, whatever the other side does, and what it says of
 * its own accord. Knows lines and ids, not processes: bytes come in through mcp_peer_receive and go out through `send`.
 *
 * Everything on the loop thread. No callback comes from within mcp_peer_ask. */

#include "rpc.h"

struct loop;
struct mcp_peer;

struct mcp_peer_ops {
    void (*send)(void *user, const char *bytes, size_t len);
    /* A request or a notification of theirs. A request must be answered by mcp_peer_answer or mcp_peer_refuse. */
    void (*heard)(void *user, const struct rpc_message *message);
    /* They break the rules in a way that cannot be lived with. Told once; nothing follows it. */
    void (*broken)(void *user, const char *why);
    /* What is no message, for the log. */
    void (*noise)(void *user, const char *text, size_t len);
};

/* Ends a request: `answer` is a result or an error of theirs, or NULL, and then `why` says what happened instead. */
typedef void mcp_answered(void *user, const struct rpc_message *answer, const char *why);

struct mcp_peer *mcp_peer_new(struct loop *loop, const struct mcp_peer_ops *ops, void *user);
/* Requests still open are forgotten without a word: end them with mcp_peer_fail first. */
void mcp_peer_free(struct mcp_peer *peer);
void mcp_peer_receive(struct mcp_peer *peer, const char *bytes, size_t len);

/* Asks, and gives the id. The answer comes later, or at the latest after `timeout_us` why there is none. */
int64_t mcp_peer_ask(struct mcp_peer *peer, const char *method, const char *params, int64_t timeout_us,
                     mcp_answered *answered, void *user);
/* Nobody waits for this answer any more; an answer that comes all the same is dropped. */
void mcp_peer_forget(struct mcp_peer *peer, int64_t id);
/* Ends every open request with this reason. */
void mcp_peer_fail(struct mcp_peer *peer, const char *why);
size_t mcp_peer_open(const struct mcp_peer *peer);
void mcp_peer_tell(struct mcp_peer *peer, const char *method, const char *params);
void mcp_peer_answer(struct mcp_peer *peer, const struct json *id, const char *result);
void mcp_peer_refuse(struct mcp_peer *peer, const struct json *id, int code, const char *text);
