/* Fuzzes a hostile MCP server: for any bytes in any pieces each request ends exactly once, the messages are the same,
 * and the result of an answer is JSON. */

#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "mcp/offers.h"
#include "mcp/peer.h"
#include "tools/change.h"
#include "tools/tool.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUESTS 3

struct conversation {
    struct mcp_peer *peer;
    struct strbuf heard;
    unsigned ended[REQUESTS];
};

struct asked {
    struct conversation *talk;
    size_t index;
};

static void on_send(void *user, const char *bytes, size_t len)
{
    (void)user;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (bytes[len - 1] != '\n' || memchr(bytes, '\n', len - 1) || !json_parse(&arena, bytes, len, NULL))
        BUG("what is sent is no message");
}

static void on_heard(void *user, const struct rpc_message *message)
{
    struct conversation *talk = user;
    strbuf_addf(&talk->heard, "%d %s\n", (int)message->kind, message->method);
    if (message->kind == RPC_REQUEST)
        mcp_peer_refuse(talk->peer, message->id, RPC_METHOD_NOT_FOUND, message->method);
}

static void on_broken(void *user, const char *why)
{
    strbuf_addf(&((struct conversation *)user)->heard, "broken %s\n", why);
}

static void on_noise(void *user, const char *text, size_t len)
{
    (void)text;
    strbuf_addf(&((struct conversation *)user)->heard, "noise %zu\n", len);
}

static const struct mcp_peer_ops ops = {on_send, on_heard, on_broken, on_noise};

static void look_at_result(const struct json *result)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf patched = STRBUF_INIT;
    struct tool_reply reply = {0};
    mcp_content_reply(result, &reply);
    if (reply.type == REPLY_OUTPUT && !json_parse(&arena, reply.output, strlen(reply.output), NULL))
        BUG("an output that is no JSON");
    tool_reply_release(&reply);
    mcp_content_text(result, &text);
    if (patch_apply(&patched, "a\nb\nc\n", 6, text.buf, NULL))
        strbuf_reset(&patched);
    json_each (tool, json_get(result, "tools"))
        mcp_claimed(json_get(tool, "annotations"));
}

static void on_answered(void *user, const struct rpc_message *answer, const char *why)
{
    struct asked *asked = user;
    struct conversation *talk = asked->talk;
    talk->ended[asked->index]++;
    strbuf_addf(&talk->heard, "%zu %s\n", asked->index,
                !answer                     ? why
                : answer->kind == RPC_ERROR ? answer->text
                                            : "result");
    if (answer && answer->kind == RPC_RESULT)
        look_at_result(answer->result);
}

static void run(struct conversation *talk, const char *bytes, size_t len, bool in_pieces)
{
    struct fake_clock clock;
    struct asked asked[REQUESTS];
    fake_clock_init(&clock);
    struct loop *loop = loop_new(&clock.base);
    talk->peer = mcp_peer_new(loop, &ops, talk);
    for (size_t i = 0; i < REQUESTS; i++) {
        asked[i] = (struct asked){talk, i};
        mcp_peer_ask(talk->peer, "m", NULL, 1000000, on_answered, &asked[i]);
    }
    while (len) {
        size_t piece = in_pieces ? (size_t)1 + (unsigned char)*bytes % 7 : len;
        if (piece > len)
            piece = len;
        mcp_peer_receive(talk->peer, bytes, piece);
        bytes += piece;
        len -= piece;
    }
    loop_run(loop);
    for (size_t i = 0; i < REQUESTS; i++)
        if (talk->ended[i] != 1)
            BUG("a request that ended %u times", talk->ended[i]);
    mcp_peer_free(talk->peer);
    loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct conversation whole = {.heard = STRBUF_INIT}, pieces = {.heard = STRBUF_INIT};
    run(&whole, (const char *)data, size, false);
    run(&pieces, (const char *)data, size, true);
    if (strcmp(whole.heard.buf, pieces.heard.buf) != 0)
        BUG("other pieces, another story");
    strbuf_release(&whole.heard);
    strbuf_release(&pieces.heard);
    return 0;
}
