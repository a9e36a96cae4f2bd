/* Tests of the forwarder with real sockets on the loopback: connections, refusals, limits, and reports to its owner.
 * The program's side is a blocking socket on a thread; the test runs the loop. */

#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "sandbox/forwarder.h"
#include "support/test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop *loop;
static struct fake_clock clock_;
static struct forwarder *forwarder;
static struct strbuf heard;
static int port;           /* of the forwarder */
static int server, served; /* a service of this machine, and its port */

/* ---- events for the owner ---- */

static void on_connected(void *user, const struct forwarder_connection *connection)
{
    assert_ptr_equal(user, &heard);
    strbuf_addf(&heard, "connected %s %s\n", connection->host, connection->port == served ? "served" : "other");
}

static void on_refused(void *user, const struct forwarder_connection *connection, const char *why)
{
    assert_ptr_equal(user, &heard);
    strbuf_addf(&heard, "refused %s: %s\n", connection ? connection->host : "-", why);
}

static void on_closed(void *user, const struct forwarder_connection *connection)
{
    assert_ptr_equal(user, &heard);
    strbuf_addf(&heard, "closed %s %llu %llu\n", connection->host, (unsigned long long)connection->sent,
                (unsigned long long)connection->received);
}

/* ---- sockets ---- */

static int listen_here(int *at)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *at = ntohs(address.sin_port);
    return fd;
}

static int dial(int to)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)to)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void open_forwarder(struct clock *time, const char *rule)
{
    struct network_rule rules[1];
    struct err err = ERR_INIT;
    int fd = listen_here(&port);
    CLEANUP(free) char *text = rule ? xstrdup(rule) : xasprintf("127.0.0.1:%d", served);
    if (network_rule_parse(rules, text, &err))
        fail_msg("%s", err.text);
    loop = loop_new(time);
    strbuf_reset(&heard);
    forwarder = forwarder_new(loop, &(struct network_rules){rules, 1, NULL},
                              &(struct forwarder_listener){on_connected, on_refused, on_closed, &heard});
    assert_int_equal(forwarder_listen(forwarder, fd, &err), 0);
}

static void close_forwarder(void)
{
    forwarder_free(forwarder);
    loop_free(loop);
}

/* ---- the program's side ---- */

struct client {
    char *says; /* sent before it closes, unless it waits */
    size_t len;
    bool waits;
    struct strbuf hears;
    pthread_t thread;
};

static void over(void *data)
{
    (void)data;
    loop_let_go(loop);
    loop_stop(loop);
}

static void *talk(void *data)
{
    struct client *client = data;
    char block[4096];
    int fd = dial(port);
    for (size_t sent = 0; sent < client->len;) {
        ssize_t now = send(fd, client->says + sent, client->len - sent, MSG_NOSIGNAL);
        if (now <= 0)
            break;
        sent += (size_t)now;
    }
    if (!client->waits)
        shutdown(fd, SHUT_WR);
    for (ssize_t got; (got = recv(fd, block, sizeof(block), 0)) > 0;)
        strbuf_add(&client->hears, block, (size_t)got);
    close(fd);
    loop_post_from_thread(loop, over, NULL);
    return NULL;
}

/* Runs the loop until the client has heard all. */
static void run_client(struct client *client)
{
    strbuf_init(&client->hears);
    loop_hold(loop);
    assert_int_equal(pthread_create(&client->thread, NULL, talk, client), 0);
    loop_run(loop);
    pthread_join(client->thread, NULL);
}

static char *ask(const char *says, size_t len, bool waits)
{
    struct client client = {.says = (char *)(uintptr_t)says, .len = len, .waits = waits};
    run_client(&client);
    return strbuf_detach(&client.hears, NULL);
}

/* A service that echoes its input in capitals after the end of input. */
static void *shout(void *data)
{
    int fd = accept(server, NULL, NULL);
    char block[65536];
    CLEANUP(strbuf) struct strbuf all = STRBUF_INIT;
    for (ssize_t got; (got = recv(fd, block, sizeof(block), 0)) > 0;)
        strbuf_add(&all, block, (size_t)got);
    for (size_t i = 0; i < all.len; i++)
        if (all.buf[i] >= 'a' && all.buf[i] <= 'z')
            all.buf[i] = (char)(all.buf[i] - 32);
    for (size_t sent = 0; sent < all.len;) {
        ssize_t now = send(fd, all.buf + sent, all.len - sent, MSG_NOSIGNAL);
        if (now <= 0)
            break;
        sent += (size_t)now;
    }
    close(fd);
    return data;
}

/* ---- tests ---- */

TEST(connections_of_every_kind)
{
    const struct {
        const char *before; /* %d: the port */
        const char *answer, *after;
    } rows[] = {
        {"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\nwords", "HTTP/1.1 200 Connection established\r\n\r\nWORDS",
         "connected 127.0.0.1 served\nclosed 127.0.0.1 5 5\n"},
        {"CONNECT localhost:%d HTTP/1.1\r\n\r\nwords", "HTTP/1.1 200 Connection established\r\n\r\nWORDS",
         "connected localhost served\nclosed localhost 5 5\n"},
        {"CONNECT [::ffff:127.0.0.1]:%d HTTP/1.1\r\n\r\n", "HTTP/1.1 200 Connection established\r\n\r\n",
         "connected 127.0.0.1 served\nclosed 127.0.0.1 0 0\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        pthread_t thread;
        open_forwarder(clock_system(), NULL);
        pthread_create(&thread, NULL, shout, NULL);
        char text[256];
        int len = snprintf(text, sizeof(text), rows[i].before, served);
        CLEANUP(free) char *answer = ask(text, (size_t)len, false);
        pthread_join(thread, NULL);
        close_forwarder();
        assert_string_equal(answer, rows[i].answer);
        assert_string_equal(heard.buf, rows[i].after);
    }
}

TEST(socks_clients_are_served)
{
    pthread_t thread;
    char text[] = "\5\1\0\5\1\0\1\x7f\0\0\1..words";
    text[11] = (char)(served >> 8);
    text[12] = (char)served;
    open_forwarder(clock_system(), NULL);
    pthread_create(&thread, NULL, shout, NULL);
    CLEANUP(free) char *answer = ask(text, sizeof(text) - 1, false);
    pthread_join(thread, NULL);
    close_forwarder();
    assert_memory_equal(answer, "\5\0\5\0\0\1\0\0\0\0\0\0WORDS", 17);
}

/* More than fits anywhere on the way: the sides wait for each other, and nothing is lost. */
TEST(back_pressure)
{
    enum { SIZE = 16 << 20 };
    pthread_t thread;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", served);
    size_t head = text.len;
    for (size_t i = 0; i < SIZE; i++)
        strbuf_addch(&text, (char)('a' + i % 23));
    open_forwarder(clock_system(), NULL);
    pthread_create(&thread, NULL, shout, NULL);
    struct client client = {.says = text.buf, .len = text.len};
    run_client(&client);
    pthread_join(thread, NULL);
    close_forwarder();
    assert_int_equal(client.hears.len, strlen("HTTP/1.1 200 Connection established\r\n\r\n") + SIZE);
    for (size_t i = 0; i < SIZE; i++)
        if (client.hears.buf[client.hears.len - SIZE + i] != text.buf[head + i] - 32)
            fail_msg("byte %zu", i);
    strbuf_release(&client.hears);
    CLEANUP(free) char *closed = xasprintf("closed 127.0.0.1 %d %d\n", SIZE, SIZE);
    assert_non_null(strstr(heard.buf, closed));
}

/* "localhost" has two addresses; where the first refuses, the second is tried. */
TEST(the_next_address_is_tried)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t len = sizeof(six);
    pthread_t thread;
    char text[64];
    int four = server, on = 1;
    server = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(server, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(server, (struct sockaddr *)&six, len) || listen(server, 1)) {
        close(server);
        server = four;
        skip(); /* there is no IPv6 here */
    }
    assert_int_equal(getsockname(server, (struct sockaddr *)&six, &len), 0);
    int size = snprintf(text, sizeof(text), "CONNECT localhost:%d HTTP/1.1\r\n\r\nwords", ntohs(six.sin6_port));
    open_forwarder(clock_system(), "localhost");
    pthread_create(&thread, NULL, shout, NULL);
    CLEANUP(free) char *answer = ask(text, (size_t)size, false);
    pthread_join(thread, NULL);
    close_forwarder();
    close(server);
    server = four;
    assert_string_equal(answer, "HTTP/1.1 200 Connection established\r\n\r\nWORDS");
}

TEST(refused_targets_get_a_reason)
{
    static const struct {
        const char *rule, *says, *answer;
    } rows[] = {
        {"a.org", "CONNECT b.org:1 HTTP/1.1\r\n\r\n", "HTTP/1.1 403 Forbidden by Keyturn\r\n"},
        {"*", "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", "HTTP/1.1 403 Forbidden by Keyturn\r\n"},
        {"*", "CONNECT localhost:1 HTTP/1.1\r\n\r\n", "HTTP/1.1 403 Forbidden by Keyturn\r\n"},
        {"*", "CONNECT 0x7f.1:1 HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"*", "nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"*", "\4\1\0\x50\x7f\0\0\1x\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n"},
        {"nowhere.invalid", "CONNECT nowhere.invalid:1 HTTP/1.1\r\n\r\n", "HTTP/1.1 502 Host Not Found\r\n"},
        {"127.0.0.1:1", "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", "HTTP/1.1 502 Host Not Reached\r\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        open_forwarder(clock_system(), rows[i].rule);
        size_t len = i == 5 ? 13 : strlen(rows[i].says);
        CLEANUP(free) char *answer = ask(rows[i].says, len, true);
        close_forwarder();
        if (strncmp(answer, rows[i].answer, strlen(rows[i].answer)) != 0)
            fail_msg("%s\n%s", rows[i].says, answer);
        assert_int_equal(strncmp(heard.buf, "refused ", 8), 0);
        assert_null(strstr(heard.buf, "connected"));
    }
    open_forwarder(clock_system(), "a.org");
    CLEANUP(free) char *answer = ask("\5\1\2", 3, true);
    assert_memory_equal(answer, "\5\xff", 3);
    CLEANUP(free) char *other = ask("\5\1\0\5\1\0\3\1b\0\1", 11, true);
    assert_memory_equal(other, "\5\0\5\2\0\1", 7);
    close_forwarder();
}

/* In virtual time: a client that sends nothing, or never finishes its request, gets an error. */
TEST(silence_is_bounded)
{
    static const char *const starts[] = {"", "CONNECT ", "\5\1"};
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        fake_clock_init(&clock_);
        open_forwarder(&clock_.base, "*");
        struct client client = {.says = (char *)(uintptr_t)starts[i], .len = strlen(starts[i]), .waits = true};
        run_client(&client);
        close_forwarder();
        strbuf_release(&client.hears);
        assert_non_null(strstr(heard.buf, "refused -: no request within 15 s"));
    }
}

/* ---- limits ---- */

static size_t count_open(const int *fds, size_t count)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        struct pollfd ready = {.fd = fds[i], .events = POLLIN};
        open += poll(&ready, 1, 0) == 1;
    }
    return open;
}

static struct {
    const int *fds;
    size_t count, wanted;
    struct loop_timer timer;
} await;

static void look(struct loop_timer *timer)
{
    if (count_open(await.fds, await.count) >= await.wanted)
        loop_stop(loop);
    else
        loop_timer_start(loop, timer, loop_now_us(loop) + 1000, look);
}

static void await_open(const int *fds, size_t count, size_t wanted)
{
    await.fds = fds;
    await.count = count;
    await.wanted = wanted;
    loop_timer_start(loop, &await.timer, loop_now_us(loop), look);
    loop_run(loop);
}

/* Extra connections wait until others close. */
TEST(too_many_wait)
{
    enum { MANY = FORWARDER_CONNECTIONS_MAX + 8 };
    int fds[MANY];
    char text[64];
    int len = snprintf(text, sizeof(text), "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", served);
    open_forwarder(clock_system(), NULL);
    for (size_t i = 0; i < MANY; i++) {
        fds[i] = dial(port);
        assert_int_equal(write(fds[i], text, (size_t)len), len);
    }
    await_open(fds, MANY, FORWARDER_CONNECTIONS_MAX);
    for (int i = 0; i < 20; i++)
        await_open(fds, MANY, 0);
    assert_int_equal(count_open(fds, MANY), FORWARDER_CONNECTIONS_MAX);
    for (size_t i = 0; i < 8; i++)
        close(fds[i]);
    int first;
    while ((first = accept4(server, NULL, NULL, SOCK_NONBLOCK)) >= 0 || errno == EINTR) {
        close(first); /* the other side of each has to end too */
        if (poll(&(struct pollfd){.fd = server, .events = POLLIN}, 1, 0) != 1)
            break;
    }
    await_open(fds + FORWARDER_CONNECTIONS_MAX, 8, 8);
    for (size_t i = 8; i < MANY; i++)
        close(fds[i]);
    close_forwarder();
    for (int flags = fcntl(server, F_SETFL, O_NONBLOCK); flags == 0 && (first = accept(server, NULL, NULL)) >= 0;)
        close(first);
    fcntl(server, F_SETFL, 0);
}

TEST(only_listening_sockets)
{
    struct err err = ERR_INIT;
    int ends[2], at;
    loop = loop_new(clock_system());
    forwarder = forwarder_new(loop, &(struct network_rules){0}, &(struct forwarder_listener){0});
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(forwarder_listen(forwarder, ends[0], &err), -1);
    assert_int_equal(forwarder_listen(forwarder, socket(AF_INET, SOCK_STREAM, 0), &err), -1);
    assert_int_equal(forwarder_listen(forwarder, socket(AF_INET, SOCK_DGRAM, 0), &err), -1);
    assert_int_equal(forwarder_listen(forwarder, open("/dev/null", O_RDONLY), &err), -1);
    assert_int_equal(forwarder_listen(forwarder, listen_here(&at), &err), 0);
    assert_int_equal(forwarder_listen(forwarder, listen_here(&at), &err), -1); /* one is enough */
    close(ends[1]);
    close_forwarder();
}

static int prepare(void **state)
{
    (void)state;
    strbuf_init(&heard);
    server = listen_here(&served);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    strbuf_release(&heard);
    return close(server);
}

/* Each host is recorded by its name, so the number of hosts is limited. */
TEST(too_many_hosts)
{
    open_forwarder(clock_system(), "127.0.0.1:1"); /* nothing listens there */
    for (int i = 0; i <= FORWARDER_HOSTS_MAX; i++) {
        CLEANUP(free) char *says = xasprintf("CONNECT h%d.localhost:1 HTTP/1.1\r\n\r\n", i);
        CLEANUP(free) char *hears = ask(says, strlen(says), false);
        assert_non_null(strstr(hears, i < FORWARDER_HOSTS_MAX ? "502 " : "403 "));
    }
    assert_non_null(strstr(heard.buf, "refused h256.localhost: too many hosts: h256.localhost:1"));
    const char *known = "CONNECT h0.localhost:1 HTTP/1.1\r\n\r\n";
    CLEANUP(free) char *hears = ask(known, strlen(known), false);
    assert_non_null(strstr(hears, "502 "));
    close_forwarder();
}

TEST_GROUP(prepare, clean)
