#pragma once
/* The conversation with one MCP server: requests that each end exactly once, whatever the server does, and the
 * server's own messages. It handles lines and ids, not processes: the owner feeds bytes to mcp_peer_receive, and the
 * peer sends through `send`.
 *
 * All functions and callbacks run on the loop thread. mcp_peer_ask never calls a callback before it returns. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct json;
struct loop;
struct mcp_peer;

/* JSON-RPC 2.0 as MCP servers use it on stdio: one message per line. The reader does not trust the sender. It bounds
 * the length of a line and its number of values, and recognizes lines that are not a message. */

#define RPC_LINE_MAX   ((size_t)8 << 20)   /* an image as base64 is one line */
#define RPC_VALUES_MAX 60000               /* per line: parsed values take many times the room of their text */
#define RPC_LONG       ((size_t)256 << 10) /* per line: a longer one is processed on a thread */

enum rpc_code {
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_NONE, RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

struct rpc_message {
    enum rpc_kind kind;
    const char *method;
    const struct json *id; /* a number or a string; 0 is a valid id */
    int64_t number;        /* of an integer id, else -1 */
    const struct json *params, *result;
    int64_t code; /* of an error */
    const char *text;
    const struct json *data;
    const char *line; /* if the message is a whole line; NULL: one of a batch */
    size_t line_len;
};

/* Returns NULL and err if the line is not JSON or too large. */
const struct json *rpc_parse(struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;

/* Splits bytes into lines. Drops a line longer than RPC_LINE_MAX. */
struct rpc_lines {
    struct strbuf held;
    bool skipping;
};
#define RPC_LINES_INIT ((struct rpc_lines){.held = STRBUF_INIT})
struct rpc_listener {
    void (*line)(void *user, const char *line, size_t len); /* without its newline, never empty */
    void (*too_long)(void *user);
    const bool *stop; /* a callback sets it to stop reading */
    void *user;
};
void rpc_lines_feed(struct rpc_lines *lines, const char *bytes, size_t len, const struct rpc_listener *listener);
void rpc_lines_release(struct rpc_lines *lines);

/* ---- the conversation ---- */

struct mcp_peer_ops {
    void (*send)(void *user, const char *bytes, size_t len);
    /* Called for a request or a notification of the server. Answer a request with mcp_peer_answer or
     * mcp_peer_refuse. */
    void (*heard)(void *user, const struct rpc_message *message);
    /* Called once if the server breaks the protocol beyond repair. No other callback follows. */
    void (*broken)(void *user, const char *why);
    /* Called with text that is not a message, for the log. */
    void (*noise)(void *user, const char *text, size_t len);
};

/* Ends a request. `answer` is the server's result or error; if it is NULL, `why` gives the reason. */
typedef void mcp_answered(void *user, const struct rpc_message *answer, const char *why);

struct mcp_peer *mcp_peer_new(struct loop *loop, const struct mcp_peer_ops *ops, void *user);
/* Drops open requests without calling their callbacks: end them with mcp_peer_fail first. */
void mcp_peer_free(struct mcp_peer *peer);
void mcp_peer_receive(struct mcp_peer *peer, const char *bytes, size_t len);

/* Sends a request and returns its id. The callback gets the answer, or after at most `timeout_us` the reason why none
 * came. */
int64_t mcp_peer_ask(struct mcp_peer *peer, const char *method, const char *params, int64_t timeout_us,
                     mcp_answered *answered, void *user);
/* Drops a request: the peer ignores its answer. */
void mcp_peer_forget(struct mcp_peer *peer, int64_t id);
/* Ends every open request with this reason. */
void mcp_peer_fail(struct mcp_peer *peer, const char *why);
void mcp_peer_tell(struct mcp_peer *peer, const char *method, const char *params);
void mcp_peer_answer(struct mcp_peer *peer, const struct json *id, const char *result);
void mcp_peer_refuse(struct mcp_peer *peer, const struct json *id, int code, const char *text);
