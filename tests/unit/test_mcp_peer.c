/* Tests of one conversation with a server, in virtual time: every request ends once, whatever the server writes. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "mcp/peer.h"
#include "support/loop_rig.h"
#include "support/test.h"
#include <stdlib.h>
#include <string.h>

static struct mcp_peer *peer;
static struct strbuf sent, heard, ended;
static size_t noises;
static bool frees; /* the next callback frees the peer */

static void on_send(void *user, const char *bytes, size_t len)
{
    (void)user;
    strbuf_add(&sent, bytes, len);
}

static void on_heard(void *user, const struct rpc_message *message)
{
    (void)user;
    strbuf_addf(&heard, "%s%s ", message->kind == RPC_REQUEST ? "?" : "", message->method);
    if (message->kind == RPC_REQUEST)
        mcp_peer_answer(peer, message->id, NULL);
}

static void on_broken(void *user, const char *why)
{
    (void)user;
    strbuf_addf(&heard, "broken: %s ", why);
}

static void on_noise(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
    noises++;
}

static const struct mcp_peer_ops ops = {on_send, on_heard, on_broken, on_noise};

static void on_answer(void *user, const struct rpc_message *answer, const char *why)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (answer && answer->kind == RPC_RESULT)
        json_write(&text, answer->result, JSON_COMPACT);
    strbuf_addf(&ended, "%s:%s ", (const char *)user,
                !answer                      ? why
                : answer->kind == RPC_RESULT ? text.buf
                                             : answer->text);
    if (frees) {
        mcp_peer_free(peer);
        peer = NULL;
    }
}

static int set_up(void **state)
{
    (void)state;
    begin(true);
    strbuf_init(&sent);
    strbuf_init(&heard);
    strbuf_init(&ended);
    noises = 0;
    frees = false;
    peer = mcp_peer_new(loop, &ops, NULL);
    return 0;
}

static int take_down(void **state)
{
    (void)state;
    mcp_peer_free(peer);
    peer = NULL;
    end();
    strbuf_release(&sent);
    strbuf_release(&heard);
    strbuf_release(&ended);
    return 0;
}

static int64_t ask(const char *name)
{
    return mcp_peer_ask(peer, "m", NULL, 5 * SECOND, on_answer, (void *)(uintptr_t)name);
}

static void receive(const char *text)
{
    mcp_peer_receive(peer, text, strlen(text));
}

TEST_WITH(answers_come_in_any_order_and_in_any_pieces, set_up, take_down)
{
    static const char text[] = "{\"result\":{\"b\":2},\"jsonrpc\":\"2.0\",\"id\":2}\r\n\n"
                               "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n";
    assert_int_equal(ask("a"), 1);
    assert_int_equal(ask("b"), 2);
    assert_string_equal(
        sent.buf, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}\n");
    for (size_t i = 0; text[i]; i++)
        mcp_peer_receive(peer, text + i, 1);
    assert_string_equal(ended.buf, "b:{\"b\":2} a:no ");
}

TEST_WITH(a_timeout_ends_a_request, set_up, take_down)
{
    ask("a");
    loop_run(loop);
    assert_string_equal(ended.buf, "a:no answer within 5 s ");
    receive("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"); /* too late, but not noise */
    assert_string_equal(ended.buf, "a:no answer within 5 s ");
    assert_int_equal(noises, 0);
}

TEST_WITH(answer_to_a_dropped_request_is_ignored, set_up, take_down)
{
    mcp_peer_forget(peer, ask("a"));
    mcp_peer_forget(peer, 77);
    receive("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert_string_equal(ended.buf, "");
}

TEST_WITH(requests_of_the_server_have_separate_ids, set_up, take_down)
{
    ask("a");
    strbuf_reset(&sent);
    receive("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"id\":0,\"method\":\"ping\"}\n{\"id\":\"x\","
            "\"method\":\"ping\"}\n"
            "{\"method\":\"notifications/x\"}\n");
    assert_string_equal(heard.buf, "?ping ?ping ?ping notifications/x ");
    assert_string_equal(sent.buf,
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n"
                        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n");
    assert_string_equal(ended.buf, ""); /* the request stays open */
}

TEST_WITH(several_in_one_line, set_up, take_down)
{
    ask("a");
    receive("[{\"id\":1,\"result\":1},{\"method\":\"n\"},7]\n");
    assert_string_equal(ended.buf, "a:1 ");
    assert_string_equal(heard.buf, "n ");
    assert_int_equal(noises, 1);
}

TEST_WITH(wrong_ids_and_garbage_are_noise, set_up, take_down)
{
    ask("a");
    receive("hello\n{}\n{\"id\":99,\"result\":{}}\n{\"id\":\"1\",\"result\":{}}\n{\"id\":1.5,\"result\":{}}\n{\"id\":"
            "null,\"result\":{}}\n"
            "{\"id\":1}\n\xff\xfe\n{\"id\":-1,\"error\":{}}\n");
    assert_int_equal(noises, 9);
    assert_string_equal(ended.buf, "");
    assert_string_equal(heard.buf, "");
}

TEST_WITH(endless_garbage_closes_the_connection, set_up, take_down)
{
    for (int i = 0; i < 5000; i++)
        receive("garbage\n");
    assert_true(noises < 1100);
    assert_non_null(strstr(heard.buf, "broken: it keeps printing"));
}

TEST_WITH(a_flood_of_requests_is_answered_up_to_a_limit, set_up, take_down)
{
    for (int i = 0; i < 30000; i++)
        receive("{\"method\":\"n\"}\n");
    assert_non_null(strstr(heard.buf, "broken: it sends too many unrequested messages"));
}

TEST_WITH(too_long_line_fails_open_requests, set_up, take_down)
{
    CLEANUP(free) char *part = xmalloc(1u << 20);
    memset(part, 'x', 1u << 20);
    ask("a");
    ask("b");
    for (int i = 0; i < 20; i++)
        mcp_peer_receive(peer, part, 1u << 20);
    assert_non_null(strstr(ended.buf, "a:the server sent a line of more than 8 MB"));
    assert_non_null(strstr(ended.buf, "b:the server"));
    receive("\n{\"method\":\"after\"}\n"); /* and it continues after its end */
    assert_string_equal(heard.buf, "after ");
}

TEST_WITH(a_line_of_too_many_values_is_noise, set_up, take_down)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    strbuf_addstr(&line, "[0");
    for (int i = 0; i < 300000; i++)
        strbuf_addstr(&line, ",0");
    strbuf_addstr(&line, "]\n");
    mcp_peer_receive(peer, line.buf, line.len);
    assert_int_equal(noises, 1);
}

TEST_WITH(a_callback_may_free_it, set_up, take_down)
{
    ask("a");
    ask("b");
    frees = true;
    receive("[{\"id\":1,\"result\":1},{\"id\":2,\"result\":1}]\n{\"method\":\"n\"}\n");
    assert_null(peer);
    assert_string_equal(ended.buf, "a:1 ");
    assert_string_equal(heard.buf, "");
}

TEST_WITH(failing_all_ends_each_once, set_up, take_down)
{
    ask("a");
    ask("b");
    mcp_peer_fail(peer, "gone");
    assert_string_equal(ended.buf, "b:gone a:gone ");
    ask("c");
    frees = true;
    ask("d");
    mcp_peer_fail(peer, "gone");
    assert_string_equal(ended.buf, "b:gone a:gone d:gone ");
}
