#pragma once
/* JSON-RPC 2.0 as tool servers speak it on stdio: one message a line. Reading never trusts the sender: a line has a
 * largest length and a largest number of values, and what is no message is told apart from what is one. */

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct json;

#define RPC_LINE_MAX   ((size_t)8 << 20)   /* an image as base64 is one line */
#define RPC_VALUES_MAX 60000               /* of a line: what is parsed takes many times the room of its text */
#define RPC_LONG       ((size_t)256 << 10) /* of a line: what it says is looked at on a thread */

enum rpc_code {
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_NONE, RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

struct rpc_message {
    enum rpc_kind kind;
    const char *method;
    const struct json *id; /* a number or a string; 0 is one as good as any */
    int64_t number;        /* of an id that is an integer, else -1 */
    const struct json *params, *result;
    int64_t code; /* of an error */
    const char *text;
    const struct json *data;
    const char *line; /* that it is all of; NULL: it is one of several */
    size_t line_len;
};

/* Which of the kinds a value is; RPC_NONE when it is none. */
struct rpc_message rpc_read(const struct json *value);
/* NULL and err when it is no JSON, or too much of it. */
const struct json *rpc_parse(struct arena *arena, const char *line, size_t len, struct err *err) CHECKED;

/* Bytes to lines. A line longer than RPC_LINE_MAX is left out to its end. */
struct rpc_lines {
    struct strbuf held;
    bool skipping;
};
#define RPC_LINES_INIT      \
    {                       \
        .held = STRBUF_INIT \
    }
struct rpc_listener {
    void (*line)(void *user, const char *line, size_t len); /* without its end, never empty */
    void (*too_long)(void *user);
    const bool *stop; /* set by one of them: nothing more is wanted */
    void *user;
};
void rpc_lines_feed(struct rpc_lines *lines, const char *bytes, size_t len, const struct rpc_listener *listener);
void rpc_lines_release(struct rpc_lines *lines);

/* Appends a whole line. `params` and `result` are JSON texts on one line; NULL: none, or {}. */
void rpc_write_request(struct strbuf *out, int64_t id, const char *method, const char *params);
void rpc_write_notification(struct strbuf *out, const char *method, const char *params);
void rpc_write_result(struct strbuf *out, const struct json *id, const char *result);
void rpc_write_error(struct strbuf *out, const struct json *id, int code, const char *text);
