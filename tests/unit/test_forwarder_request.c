/* Tests of the requests of programs to the forwarder: each is also read in every prefix, which must ask for more. */

#include "base/mem.h"
#include "sandbox/forwarder_request.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>

/* ---- HTTP ---- */

static enum forwarder_read http(const char *text, size_t len, struct network_target *target, bool *tunnel,
                                struct strbuf *onward, struct err *why)
{
    size_t used = 0;
    CLEANUP(free) char *copy = xmalloc(len + 1); /* of exactly that size, so that a sanitizer sees a read past it */
    memcpy(copy, text, len);
    enum forwarder_read read = forwarder_http_read(copy, len, target, tunnel, onward, &used, why);
    if (read == FORWARDER_READ)
        assert_true(used <= len && memcmp(text + used - 4, "\r\n\r\n", 4) == 0);
    return read;
}

TEST(requests_are_parsed)
{
    static const struct {
        const char *text, *host, *onward; /* NULL: a tunnel */
        unsigned port;
    } rows[] = {
        {"CONNECT a.org:443 HTTP/1.1\r\nHost: other\r\n\r\n", "a.org", NULL, 443},
        {"CONNECT a.org:443 HTTP/1.0\r\n\r\n", "a.org", NULL, 443},
        {"CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "::1", NULL, 443},
        {"CONNECT [::ffff:127.0.0.1]:1 HTTP/1.1\r\n\r\n", "127.0.0.1", NULL, 1},
        {"GET http://a.org/p?q=1#f HTTP/1.1\r\nHost: evil.org\r\nAccept: */*\r\n\r\n", "a.org",
         "GET /p?q=1 HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\nAccept: */*\r\n\r\n", 80},
        {"GET HTTP://A.org:8080 HTTP/1.1\r\n\r\n", "a.org",
         "GET / HTTP/1.1\r\nHost: a.org:8080\r\nConnection: close\r\n\r\n", 8080},
        {"GET http://a.org?x HTTP/1.1\r\n\r\n", "a.org", "GET /?x HTTP/1.1\r\nHost: a.org\r\nConnection: close\r\n\r\n",
         80},
        {"GET http://[::1]:81/ HTTP/1.1\r\n\r\n", "::1",
         "GET / HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\n\r\n", 81},
        {"POST http://a.org:/ HTTP/1.0\r\nProxy-Connection: keep-alive\r\nproxy-authorization: x\r\nConnection: "
         "keep-alive\r\nKeep-Alive: 5\r\nContent-Length: 3\r\n\r\n",
         "a.org", "POST / HTTP/1.0\r\nHost: a.org\r\nConnection: close\r\nContent-Length: 3\r\n\r\n", 80},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(strbuf) struct strbuf onward = STRBUF_INIT;
        struct network_target target;
        struct err why = ERR_INIT;
        bool tunnel;
        size_t len = strlen(rows[i].text);
        for (size_t part = 0; part < len; part++)
            if (http(rows[i].text, part, &target, &tunnel, &onward, &why) != FORWARDER_MORE)
                fail_msg("%zu bytes are enough of %s", part, rows[i].text);
        if (http(rows[i].text, len, &target, &tunnel, &onward, &why) != FORWARDER_READ)
            fail_msg("%s: %s", rows[i].text, why.text);
        assert_string_equal(target.host, rows[i].host);
        assert_int_equal(target.port, rows[i].port);
        assert_int_equal(tunnel, !rows[i].onward);
        assert_string_equal(onward.buf, rows[i].onward ? rows[i].onward : "");
    }
}

TEST(bytes_after_the_request_are_not_used)
{
    static const char text[] = "CONNECT a.org:1 HTTP/1.1\r\n\r\nrest\r\n\r\n";
    CLEANUP(strbuf) struct strbuf onward = STRBUF_INIT;
    struct network_target target;
    struct err why = ERR_INIT;
    bool tunnel;
    size_t used;
    assert_int_equal(forwarder_http_read(text, sizeof(text) - 1, &target, &tunnel, &onward, &used, &why),
                     FORWARDER_READ);
    assert_string_equal(text + used, "rest\r\n\r\n");
}

TEST(wrong_requests)
{
    static const char *const wrong[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n",
        "GET https://a.org/ HTTP/1.1\r\n\r\n",
        "GET ftp://a.org/ HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\n\r\n",
        "GET http:/// HTTP/1.1\r\n\r\n",
        "GET http://u@a.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org:x/ HTTP/1.1\r\n\r\n",
        "GET http://a.org/ HTTP/2\r\n\r\n",
        "GET http://a.org/ HTTP/1.1 \r\n\r\n",
        "GET  http://a.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org/\tx HTTP/1.1\r\n\r\n",
        "GE:T http://a.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org/\x7f HTTP/1.1\r\n\r\n",
        "GET http://127.1/ HTTP/1.1\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nno colon\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\n: empty\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nName : x\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\n folded: x\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nA: b\nHost: evil\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nA: b\rHost: evil\r\n\r\n",
        "CONNECT a.org HTTP/1.1\r\n\r\n",
        "CONNECT a.org: HTTP/1.1\r\n\r\n",
        "CONNECT a.org:0 HTTP/1.1\r\n\r\n",
        "CONNECT a.org:99999 HTTP/1.1\r\n\r\n",
        "CONNECT ::1:80 HTTP/1.1\r\n\r\n",
        "CONNECT [::1]x:80 HTTP/1.1\r\n\r\n",
        "CONNECT :80 HTTP/1.1\r\n\r\n",
        "CONNECT u@a.org:80 HTTP/1.1\r\n\r\n",
        "CONNECT 0x7f.1:80 HTTP/1.1\r\n\r\n",
        "CONNECT a.org:80 HTTP/1.1\r\nbad\r\n\r\n",
        "connect a.org:80 HTTP/1.1\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CLEANUP(strbuf) struct strbuf onward = STRBUF_INIT;
        struct network_target target;
        struct err why = ERR_INIT;
        bool tunnel;
        if (http(wrong[i], strlen(wrong[i]), &target, &tunnel, &onward, &why) != FORWARDER_WRONG || !*why.text)
            fail_msg("it is read: %s", wrong[i]);
    }
}

TEST(a_long_header_is_refused)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf onward = STRBUF_INIT;
    struct network_target target;
    struct err why = ERR_INIT;
    bool tunnel;
    strbuf_addstr(&text, "CONNECT a.org:1 HTTP/1.1\r\nA: ");
    while (text.len < FORWARDER_HEAD_MAX - 1)
        strbuf_addch(&text, 'x');
    assert_int_equal(http(text.buf, text.len, &target, &tunnel, &onward, &why), FORWARDER_MORE);
    strbuf_addch(&text, 'x');
    assert_int_equal(http(text.buf, text.len, &target, &tunnel, &onward, &why), FORWARDER_WRONG);
    strbuf_addstr(&text, "\r\n\r\n");
    assert_int_equal(http(text.buf, text.len, &target, &tunnel, &onward, &why), FORWARDER_WRONG);
}

/* ---- SOCKS ---- */

#define BYTES(text) text, sizeof(text) - 1

TEST(socks_greetings_are_parsed)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum forwarder_read read;
    } rows[] = {
        {BYTES(""), FORWARDER_MORE},       {BYTES("\5"), FORWARDER_MORE},           {BYTES("\5\2\0"), FORWARDER_MORE},
        {BYTES("\5\1\0"), FORWARDER_READ}, {BYTES("\5\2\2\0rest"), FORWARDER_READ}, {BYTES("\5\1\2"), FORWARDER_WRONG},
        {BYTES("\5\0"), FORWARDER_WRONG},  {BYTES("\4\1\0"), FORWARDER_WRONG},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err why = ERR_INIT;
        size_t used = 0;
        if (forwarder_socks_greet(rows[i].bytes, rows[i].len, &used, &why) != rows[i].read)
            fail_msg("greeting %zu", i);
        assert_true(used <= rows[i].len);
    }
}

TEST(socks_requests)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *host;
        unsigned port;
    } rows[] = {
        {BYTES("\5\1\0\1\x7f\0\0\1\0\x50"), "127.0.0.1", 80},
        {BYTES("\5\1\0\3\5a.ORG\1\xbb"), "a.org", 443},
        {BYTES("\5\1\0\3\x09"
               "127.0.0.1\0\x50"),
         "127.0.0.1", 80},
        {BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\x1f\x90"), "::1", 8080},
        {BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\1"), "127.0.0.1", 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct network_target target;
        struct err why = ERR_INIT;
        size_t used = 0;
        uint8_t reply;
        for (size_t part = 0; part < rows[i].len; part++)
            assert_int_equal(forwarder_socks_read(rows[i].bytes, part, &target, &used, &reply, &why), FORWARDER_MORE);
        if (forwarder_socks_read(rows[i].bytes, rows[i].len, &target, &used, &reply, &why) != FORWARDER_READ)
            fail_msg("request %zu: %s", i, why.text);
        assert_int_equal(used, rows[i].len);
        assert_string_equal(target.host, rows[i].host);
        assert_int_equal(target.port, rows[i].port);
    }
}

TEST(wrong_socks_requests)
{
    static const struct {
        const char *bytes;
        size_t len;
        uint8_t reply;
    } rows[] = {
        {BYTES("\4\1\0\1\x7f\0\0\1\0\x50"), SOCKS_FAILED},
        {BYTES("\5\2\0\1\x7f\0\0\1\0\x50"), SOCKS_NO_COMMAND},
        {BYTES("\5\3\0\1\x7f\0\0\1\0\x50"), SOCKS_NO_COMMAND},
        {BYTES("\5\1\0\2\x7f\0\0\1\0\x50"), SOCKS_NO_ADDRESS},
        {BYTES("\5\1\0\1\x7f\0\0\1\0\0"), SOCKS_FAILED},
        {BYTES("\5\1\0\3\0\0\x50"), SOCKS_FAILED},
        {BYTES("\5\1\0\3\3a\0b\0\x50"), SOCKS_FAILED},
        {BYTES("\5\1\0\3\5"
               "127.1\0\x50"),
         SOCKS_FAILED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct network_target target;
        struct err why = ERR_INIT;
        size_t used = 0;
        uint8_t reply;
        if (forwarder_socks_read(rows[i].bytes, rows[i].len, &target, &used, &reply, &why) != FORWARDER_WRONG)
            fail_msg("request %zu is read", i);
        assert_int_equal(reply, rows[i].reply);
    }
}
