/* The network forwarder: connects programs without a network to the hosts on their list (forwarder.h).
 *
 * A connection ("link") goes through these states:
 *
 *     HEAD ──► RESOLVING ──► CONNECTING ──► OPEN ──► gone
 *       └──────────┴──────────────┴──► REFUSED ──► gone
 *
 * HEAD reads the request, at most FORWARDER_HEAD_MAX bytes. While the host is resolved and connected, nothing more is
 * read from the program; bytes it sent early go out first. REFUSED has sent the reason and waits briefly for the
 * program to hang up: closing a socket with unread bytes resets it, and the reason would be lost. */

#include "forwarder.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/tcp.h"
#include "forwarder_request.h"
#include <errno.h>
#include <string.h>

#define QUEUE_MAX  65536 /* unsent bytes above which the other side is not read */
#define LEAVING_MS 2000
#define LOGGED_MAX 20 /* logged refusals of one forwarder: a program could fill a disk with them */

enum state { HEAD, RESOLVING, CONNECTING, OPEN, REFUSED };
enum speech { UNKNOWN, HTTP, SOCKS_GREETING, SOCKS };

/* Why a link is refused; HTTP and SOCKS each have a code for it. */
enum refusal { WRONG_REQUEST, NOT_ALLOWED, NOT_FOUND, NOT_REACHED, TOO_SLOW };
static const struct {
    const char *status;
    uint8_t reply;
} refusals[] = {
    [WRONG_REQUEST] = {"400 Bad Request", SOCKS_FAILED},
    [NOT_ALLOWED] = {"403 Forbidden by Keyturn", SOCKS_REFUSED},
    [NOT_FOUND] = {"502 Host Not Found", SOCKS_UNREACHABLE},
    [NOT_REACHED] = {"502 Host Not Reached", SOCKS_UNREACHABLE},
    [TOO_SLOW] = {"504 Gateway Timeout", SOCKS_NO_ANSWER},
};

struct link {
    struct forwarder *forwarder;
    struct link *next, **from;
    enum state state;
    enum speech speech;
    struct tcp *inside, *outside;
    struct tcp_lookup *lookup;
    struct loop_timer timer;
    struct strbuf head; /* the bytes read; later the bytes to send first */
    struct network_target target;
    struct address addresses[TCP_ADDRESSES_MAX];
    size_t address_count, address_at;
    uint64_t sent, received;
    bool tunnel, inside_ended, outside_ended;
};

struct forwarder {
    struct loop *loop;
    struct network_rules rules;
    struct forwarder_listener listener;
    struct tcp_listener *socket;
    struct link *links;
    size_t link_count, logged, host_count;
    char *hosts[FORWARDER_HOSTS_MAX]; /* requested hosts that are on the list, "host:port" */
    struct forwarder *next;           /* list of all forwarders */
};

static struct forwarder *all;
static size_t all_links;

/* ---- the end of a link ---- */

static void accept_waiting(void);

static struct forwarder_connection describe(const struct link *link)
{
    return (struct forwarder_connection){
        .host = link->target.host, .port = link->target.port, .sent = link->sent, .received = link->received};
}

static void drop(struct link *link)
{
    struct forwarder *forwarder = link->forwarder;
    const struct forwarder_listener *listener = &forwarder->listener;
    struct forwarder_connection connection = describe(link);
    *link->from = link->next;
    if (link->next)
        link->next->from = link->from;
    forwarder->link_count--;
    all_links--;
    loop_timer_stop(forwarder->loop, &link->timer);
    tcp_lookup_free(link->lookup);
    tcp_free(link->inside);
    tcp_free(link->outside);
    if (link->state == OPEN && listener->closed)
        listener->closed(listener->user, &connection);
    strbuf_release(&link->head);
    free(link);
}

static void on_left(struct loop_timer *timer)
{
    drop(CONTAINER_OF(timer, struct link, timer));
    accept_waiting();
}

static void end(struct link *link)
{
    drop(link);
    accept_waiting();
}

/* ---- answers ---- */

static void reply_socks(struct link *link, uint8_t reply)
{
    const char answer[] = {SOCKS_VERSION, (char)reply, 0, 1, 0, 0, 0, 0, 0, 0}; /* do not reveal our address */
    tcp_write(link->inside, answer, sizeof(answer));
}

static void reply_http(struct link *link, const char *status, const char *why)
{
    CLEANUP(strbuf) struct strbuf answer = STRBUF_INIT;
    CLEANUP(free) char *body = xasprintf("Keyturn: %s\n", why);
    strbuf_addf(&answer,
                "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
                "Connection: close\r\n\r\n%s",
                status, strlen(body), body);
    tcp_write(link->inside, answer.buf, answer.len);
}

static void refuse_as(struct link *link, const char *status, uint8_t reply, const char *why)
{
    struct forwarder *forwarder = link->forwarder;
    struct forwarder_connection connection = describe(link);
    if (forwarder->logged++ < LOGGED_MAX)
        log_info("network: %s%s", why, forwarder->logged == LOGGED_MAX ? " (others are not logged)" : "");
    if (forwarder->listener.refused)
        forwarder->listener.refused(forwarder->listener.user, *connection.host ? &connection : NULL, why);
    if (link->speech == SOCKS)
        reply_socks(link, reply);
    else if (link->speech == SOCKS_GREETING)
        tcp_write(link->inside, "\x05\xff", 2);
    else
        reply_http(link, status, why);
    tcp_lookup_free(steal(&link->lookup));
    tcp_free(steal(&link->outside));
    link->state = REFUSED;
    strbuf_reset(&link->head);
    tcp_end(link->inside);
    tcp_pause(link->inside, false);
    loop_timer_start(forwarder->loop, &link->timer, loop_now_us(forwarder->loop) + LEAVING_MS * INT64_C(1000), on_left);
}

static void refuse_connection(struct link *link, enum refusal refusal, const char *why)
{
    refuse_as(link, refusals[refusal].status, refusals[refusal].reply, why);
}

static void try_next(struct link *link, const char *last);

static void on_late(struct loop_timer *timer)
{
    struct link *link = CONTAINER_OF(timer, struct link, timer);
    if (link->state == CONNECTING && link->address_at < link->address_count) {
        tcp_free(steal(&link->outside));
        try_next(link, "it does not answer");
        return;
    }
    char host[NETWORK_TARGET_TEXT_MAX];
    CLEANUP(free)
    char *why = link->state == HEAD ? xasprintf("no request within %d s", FORWARDER_HEAD_MS / 1000)
                                    : xasprintf("%s did not answer within %d s",
                                                network_target_text(&link->target, host), FORWARDER_CONNECT_MS / 1000);
    refuse_connection(link, TOO_SLOW, why);
}

static void limit(struct link *link, int64_t ms)
{
    struct loop *loop = link->forwarder->loop;
    loop_timer_start(loop, &link->timer, loop_now_us(loop) + ms * 1000, on_late);
}

/* ---- carrying bytes ---- */

static void carry(struct tcp *from, struct tcp *to, const char *bytes, size_t len)
{
    tcp_write(to, bytes, len);
    if (tcp_unwritten(to) > QUEUE_MAX)
        tcp_pause(from, true);
}

/* True if both sides have ended and all bytes are sent. */
static bool is_over(const struct link *link)
{
    return link->inside_ended && link->outside_ended && !tcp_unwritten(link->inside) && !tcp_unwritten(link->outside);
}

static void on_outside_received(void *data, const char *bytes, size_t len)
{
    struct link *link = data;
    if (len) {
        link->received += len;
        carry(link->outside, link->inside, bytes, len);
        return;
    }
    link->outside_ended = true;
    tcp_end(link->inside);
    if (is_over(link))
        end(link);
}

static void on_outside_drained(void *data)
{
    struct link *link = data;
    if (link->state != OPEN)
        return;
    if (is_over(link))
        end(link);
    else if (!link->inside_ended)
        tcp_pause(link->inside, false);
}

static void on_outside_failed(void *data)
{
    end(data);
}

/* ---- connecting ---- */

static void open_link(struct link *link)
{
    struct forwarder *forwarder = link->forwarder;
    loop_timer_stop(forwarder->loop, &link->timer);
    link->state = OPEN;
    struct forwarder_connection connection = describe(link);
    if (forwarder->listener.connected)
        forwarder->listener.connected(forwarder->listener.user, &connection);
    if (link->speech == SOCKS)
        reply_socks(link, 0);
    else if (link->tunnel)
        tcp_write(link->inside, "HTTP/1.1 200 Connection established\r\n\r\n", 39);
    link->sent = link->head.len;
    tcp_write(link->outside, link->head.buf, link->head.len);
    strbuf_reset(&link->head);
    tcp_pause(link->outside, false);
    tcp_pause(link->inside, false);
}

static void on_forwarder_connected(void *data, int code)
{
    struct link *link = data;
    if (!code) {
        open_link(link);
        return;
    }
    tcp_free(steal(&link->outside));
    try_next(link, strerror(code));
}

/* Checks every address and connects to the checked one, without resolving the name again. */
static void try_next(struct link *link, const char *last)
{
    const struct tcp_events events = {.connected = on_forwarder_connected,
                                      .received = on_outside_received,
                                      .drained = on_outside_drained,
                                      .failed = on_outside_failed,
                                      .data = link};
    const struct network_rules *rules = &link->forwarder->rules;
    struct err why = ERR_INIT;
    while (link->address_at < link->address_count) {
        const struct address *address = &link->addresses[link->address_at++];
        if (network_rules_check_address(rules, &link->target, address, address_is_ours(address), &why))
            continue;
        link->outside = tcp_connect(link->forwarder->loop, address, link->target.port, &events);
        if (link->outside) {
            limit(link, link->address_at < link->address_count ? FORWARDER_ATTEMPT_MS : FORWARDER_CONNECT_MS);
            return;
        }
        last = strerror(errno);
    }
    if (!last) {
        refuse_connection(link, NOT_ALLOWED, why.text);
        return;
    }
    char host[NETWORK_TARGET_TEXT_MAX];
    CLEANUP(free) char *text = xasprintf("cannot connect to %s: %s", network_target_text(&link->target, host), last);
    refuse_connection(link, NOT_REACHED, text);
}

static void on_found(void *data, const struct address *found, size_t count, const char *why)
{
    struct link *link = data;
    link->lookup = NULL;
    if (!count) {
        CLEANUP(free) char *text = xasprintf("cannot resolve %s: %s", link->target.host, why);
        refuse_connection(link, NOT_FOUND, text);
        return;
    }
    memcpy(link->addresses, found, count * sizeof(*found));
    link->address_count = count;
    link->state = CONNECTING;
    try_next(link, NULL);
}

/* Adds a host, or finds a known one. */
static int note_host(struct forwarder *forwarder, const struct network_target *target, struct err *why)
{
    char text[NETWORK_TARGET_TEXT_MAX];
    network_target_text(target, text);
    for (size_t i = 0; i < forwarder->host_count; i++)
        if (strcmp(forwarder->hosts[i], text) == 0)
            return 0;
    if (forwarder->host_count == FORWARDER_HOSTS_MAX)
        return err_set(why, "too many hosts: %s would be one more than the limit of %d", text, FORWARDER_HOSTS_MAX);
    forwarder->hosts[forwarder->host_count++] = xstrdup(text);
    return 0;
}

static void find_host(struct link *link)
{
    const struct network_rules *rules = &link->forwarder->rules;
    struct err why = ERR_INIT;
    tcp_pause(link->inside, true);
    limit(link, FORWARDER_CONNECT_MS);
    if (network_rules_check_name(rules, &link->target, &why) || note_host(link->forwarder, &link->target, &why)) {
        refuse_connection(link, NOT_ALLOWED, why.text);
        return;
    }
    link->state = CONNECTING;
    if (link->target.is_address)
        link->addresses[link->address_count++] = link->target.address;
    else if (network_is_localhost(link->target.host)) {
        address_parse(&link->addresses[link->address_count++], "127.0.0.1");
        address_parse(&link->addresses[link->address_count++], "::1");
    } else {
        link->state = RESOLVING;
        link->lookup = tcp_lookup(link->forwarder->loop, link->target.host, on_found, link);
        if (!link->lookup)
            refuse_connection(link, NOT_FOUND, "the name cannot be resolved");
        return;
    }
    try_next(link, NULL);
}

/* ---- requests of the program ---- */

/* Replaces the bytes read by those to send on. */
static void replace_head(struct link *link, size_t used, const char *by, size_t len)
{
    struct strbuf rest = STRBUF_INIT;
    strbuf_add(&rest, by, len);
    strbuf_add(&rest, link->head.buf + used, link->head.len - used);
    strbuf_release(&link->head);
    link->head = rest;
}

static void read_http(struct link *link)
{
    CLEANUP(strbuf) struct strbuf onward = STRBUF_INIT;
    struct err why = ERR_INIT;
    size_t used = 0;
    enum forwarder_read read =
        forwarder_http_read(link->head.buf, link->head.len, &link->target, &link->tunnel, &onward, &used, &why);
    if (read == FORWARDER_WRONG)
        refuse_connection(link, WRONG_REQUEST, why.text);
    if (read != FORWARDER_READ)
        return;
    replace_head(link, used, onward.buf, onward.len);
    find_host(link);
}

static void read_socks(struct link *link)
{
    struct err why = ERR_INIT;
    size_t used = 0;
    uint8_t reply;
    enum forwarder_read read = forwarder_socks_read(link->head.buf, link->head.len, &link->target, &used, &reply, &why);
    if (read == FORWARDER_WRONG)
        refuse_as(link, refusals[WRONG_REQUEST].status, reply, why.text);
    if (read != FORWARDER_READ)
        return;
    replace_head(link, used, "", 0);
    find_host(link);
}

static void greet_socks(struct link *link)
{
    struct err why = ERR_INIT;
    size_t used = 0;
    enum forwarder_read read = forwarder_socks_greet(link->head.buf, link->head.len, &used, &why);
    if (read == FORWARDER_WRONG)
        refuse_connection(link, WRONG_REQUEST, why.text);
    if (read != FORWARDER_READ)
        return;
    tcp_write(link->inside, "\x05\x00", 2);
    replace_head(link, used, "", 0);
    link->speech = SOCKS;
    read_socks(link);
}

static void read_head(struct link *link)
{
    if (link->speech == UNKNOWN)
        link->speech = link->head.buf[0] == SOCKS_VERSION ? SOCKS_GREETING : HTTP;
    if (link->speech == HTTP)
        read_http(link);
    else if (link->speech == SOCKS_GREETING)
        greet_socks(link);
    else
        read_socks(link);
}

static void on_inside_received(void *data, const char *bytes, size_t len)
{
    struct link *link = data;
    if (link->state == OPEN && len) {
        link->sent += len;
        carry(link->inside, link->outside, bytes, len);
    } else if (link->state == OPEN) {
        link->inside_ended = true;
        tcp_end(link->outside);
        if (is_over(link))
            end(link);
    } else if (!len)
        end(link); /* no client waits for an answer */
    else if (link->state == HEAD) {
        strbuf_add(&link->head, bytes, len); /* at most one read more than a head */
        read_head(link);
    }
}

static void on_inside_drained(void *data)
{
    struct link *link = data;
    if (link->state != OPEN)
        return;
    if (is_over(link))
        end(link);
    else if (!link->outside_ended)
        tcp_pause(link->outside, false);
}

static void on_inside_failed(void *data)
{
    end(data);
}

/* ---- accepting ---- */

static bool accept_one(struct forwarder *forwarder)
{
    if (!forwarder->socket || forwarder->link_count >= FORWARDER_CONNECTIONS_MAX ||
        all_links >= FORWARDER_ALL_CONNECTIONS_MAX)
        return false;
    struct link *link = xcalloc(1, sizeof(*link));
    const struct tcp_events events = {
        .received = on_inside_received, .drained = on_inside_drained, .failed = on_inside_failed, .data = link};
    *link = (struct link){.forwarder = forwarder, .inside = tcp_accept(forwarder->socket, &events)};
    if (!link->inside) {
        free(link);
        return false;
    }
    strbuf_init(&link->head);
    link->next = forwarder->links;
    link->from = &forwarder->links;
    if (link->next)
        link->next->from = &link->next;
    forwarder->links = link;
    forwarder->link_count++;
    all_links++;
    limit(link, FORWARDER_HEAD_MS);
    tcp_pause(link->inside, false);
    return true;
}

/* A connection became free, perhaps for another forwarder. */
static void accept_waiting(void)
{
    for (struct forwarder *forwarder = all; forwarder; forwarder = forwarder->next)
        while (accept_one(forwarder))
            ;
}

static void on_forwarder_ready(void *data)
{
    while (accept_one(data))
        ;
}

struct forwarder *forwarder_new(struct loop *loop, const struct network_rules *rules,
                                const struct forwarder_listener *listener)
{
    struct forwarder *forwarder = xcalloc(1, sizeof(*forwarder));
    *forwarder =
        (struct forwarder){.loop = loop, .rules = network_rules_copy(rules), .listener = *listener, .next = all};
    all = forwarder;
    return forwarder;
}

int forwarder_listen(struct forwarder *forwarder, int take_fd, struct err *err)
{
    if (forwarder->socket) {
        close(take_fd);
        return err_set(err, "the forwarder is already listening");
    }
    forwarder->socket = tcp_listen(forwarder->loop, take_fd, on_forwarder_ready, forwarder, err);
    return forwarder->socket ? 0 : -1;
}

void forwarder_free(struct forwarder *forwarder)
{
    if (!forwarder)
        return;
    struct forwarder **at = &all;
    while (*at != forwarder)
        at = &(*at)->next;
    *at = forwarder->next;
    tcp_listener_free(forwarder->socket);
    while (forwarder->links)
        drop(forwarder->links);
    accept_waiting();
    network_rules_release(&forwarder->rules);
    for (size_t i = 0; i < forwarder->host_count; i++)
        free(forwarder->hosts[i]);
    free(forwarder);
}
