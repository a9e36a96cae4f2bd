/* TCP on libuv (tcp.h).
 *
 * A struct lives until its owner has freed it and libuv has closed its handle; a lookup lives until its thread has
 * returned. loop_free waits for both.
 *
 * uv_getaddrinfo resolves names. libuv counts that as slow work and gives it at most half of the pool's threads. So
 * a program that requests a thousand unanswered names delays nothing else. */

#include "tcp.h"
#include "loop.h"
#include "loop_internal.h"
#include "mem.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#define BACKLOG     128
#define READ_BYTES  65536
#define NAME_MAX_IN 256

struct tcp_listener {
    uv_tcp_t handle;
    struct loop *loop;
    void (*ready)(void *data);
    void *data;
    bool pending, freed;
};

struct tcp {
    uv_tcp_t handle;
    uv_connect_t connecting;
    uv_shutdown_t ending;
    struct loop *loop;
    struct tcp_events events;
    bool reading, ended, freed;
};

struct tcp_write {
    uv_write_t request;
    struct tcp *tcp;
    char bytes[];
};

struct tcp_lookup {
    uv_getaddrinfo_t request;
    struct loop *loop;
    void (*done)(void *data, const struct address *found, size_t count, const char *why);
    void *data;
    bool freed;
};

/* ---- listening ---- */

static void on_listener_closed(uv_handle_t *handle)
{
    struct tcp_listener *listener = handle->data;
    loop_count_dying(listener->loop, -1);
    free(listener);
}

void tcp_listener_free(struct tcp_listener *listener)
{
    if (!listener || listener->freed)
        return;
    listener->freed = true;
    loop_count_dying(listener->loop, 1);
    uv_close((uv_handle_t *)&listener->handle, on_listener_closed);
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct tcp_listener *listener = stream->data;
    if (status || listener->freed)
        return;
    listener->pending = true;
    listener->ready(listener->data);
}

/* Verify the type of a descriptor that came from another process. */
static int check_listening(int fd)
{
    int listens = 0, protocol = 0;
    socklen_t len = sizeof(listens), protocol_len = sizeof(protocol);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) ||
        getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &protocol_len))
        return errno;
    return listens && protocol == IPPROTO_TCP ? 0 : EINVAL;
}

struct tcp_listener *tcp_listen(struct loop *loop, int take_fd, void (*ready)(void *data), void *data, struct err *err)
{
    int code = check_listening(take_fd);
    if (code) {
        close(take_fd);
        err_set_errno(err, code, "not a listening socket");
        return NULL;
    }
    struct tcp_listener *listener = xcalloc(1, sizeof(*listener));
    *listener = (struct tcp_listener){.loop = loop, .ready = ready, .data = data};
    uv_tcp_init(loop_uv(loop), &listener->handle);
    listener->handle.data = listener;
    int failed = uv_tcp_open(&listener->handle, take_fd);
    if (failed)
        close(take_fd);
    else
        failed = uv_listen((uv_stream_t *)&listener->handle, BACKLOG, on_connection);
    if (failed) {
        err_set_errno(err, -failed, "cannot listen");
        tcp_listener_free(listener);
        return NULL;
    }
    uv_unref((uv_handle_t *)&listener->handle); /* the owner keeps the loop running */
    return listener;
}

/* ---- connections ---- */

static struct tcp *new_tcp(struct loop *loop, const struct tcp_events *events)
{
    struct tcp *tcp = xcalloc(1, sizeof(*tcp));
    tcp->loop = loop;
    tcp->events = *events;
    uv_tcp_init(loop_uv(loop), &tcp->handle);
    tcp->handle.data = tcp;
    return tcp;
}

static void on_tcp_closed(uv_handle_t *handle)
{
    struct tcp *tcp = handle->data;
    loop_count_dying(tcp->loop, -1);
    free(tcp);
}

void tcp_free(struct tcp *tcp)
{
    if (!tcp || tcp->freed)
        return;
    tcp->freed = true;
    loop_count_dying(tcp->loop, 1);
    uv_close((uv_handle_t *)&tcp->handle, on_tcp_closed);
}

struct tcp *tcp_accept(struct tcp_listener *listener, const struct tcp_events *events)
{
    if (!listener->pending)
        return NULL;
    listener->pending = false; /* accepting may report the next one at once */
    struct tcp *tcp = new_tcp(listener->loop, events);
    if (uv_accept((uv_stream_t *)&listener->handle, (uv_stream_t *)&tcp->handle)) {
        tcp_free(tcp);
        return NULL;
    }
    uv_tcp_nodelay(&tcp->handle, 1);
    return tcp;
}

static void on_tcp_connected(uv_connect_t *request, int status)
{
    struct tcp *tcp = CONTAINER_OF(request, struct tcp, connecting);
    if (tcp->freed)
        return;
    if (!status)
        uv_tcp_nodelay(&tcp->handle, 1);
    tcp->events.connected(tcp->events.data, -status);
}

struct tcp *tcp_connect(struct loop *loop, const struct address *address, uint16_t port,
                        const struct tcp_events *events)
{
    struct sockaddr_storage to;
    struct tcp *tcp = new_tcp(loop, events);
    address_to_socket(address, port, &to);
    int failed = uv_tcp_connect(&tcp->connecting, &tcp->handle, (const struct sockaddr *)&to, on_tcp_connected);
    if (!failed)
        return tcp;
    tcp_free(tcp);
    errno = -failed;
    return NULL;
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    static char buffer[READ_BYTES]; /* one thread reads, one connection at a time */
    (void)handle;
    (void)suggested;
    *buf = uv_buf_init(buffer, sizeof(buffer));
}

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct tcp *tcp = stream->data;
    if (tcp->freed || !got)
        return;
    if (got > 0) {
        tcp->events.received(tcp->events.data, buf->base, (size_t)got);
        return;
    }
    tcp_pause(tcp, true);
    if (got == UV_EOF)
        tcp->events.received(tcp->events.data, NULL, 0);
    else
        tcp->events.failed(tcp->events.data);
}

void tcp_pause(struct tcp *tcp, bool paused)
{
    if (tcp->freed || tcp->reading == !paused)
        return;
    tcp->reading = !paused;
    if (paused)
        uv_read_stop((uv_stream_t *)&tcp->handle);
    else if (uv_read_start((uv_stream_t *)&tcp->handle, give_buffer, on_read))
        tcp->reading = false;
}

static void on_written(uv_write_t *request, int status)
{
    struct tcp_write *job = (struct tcp_write *)request;
    struct tcp *tcp = job->tcp;
    free(job);
    if (tcp->freed || status == UV_ECANCELED)
        return;
    if (status)
        tcp->events.failed(tcp->events.data);
    else if (tcp_unwritten(tcp) == 0)
        tcp->events.drained(tcp->events.data);
}

void tcp_write(struct tcp *tcp, const char *bytes, size_t len)
{
    if (tcp->freed || tcp->ended || !len)
        return;
    struct tcp_write *job = xmalloc(sizeof(*job) + len);
    job->tcp = tcp;
    memcpy(job->bytes, bytes, len);
    uv_buf_t buf = {.base = job->bytes, .len = len};
    if (uv_write(&job->request, (uv_stream_t *)&tcp->handle, &buf, 1, on_written))
        free(job); /* the connection has ended: reading reports it */
}

size_t tcp_unwritten(const struct tcp *tcp)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&tcp->handle);
}

static void on_tcp_ended(uv_shutdown_t *request, int status)
{
    (void)request;
    (void)status; /* reading reports a side that is gone */
}

void tcp_end(struct tcp *tcp)
{
    if (tcp->freed || tcp->ended)
        return;
    tcp->ended = true;
    uv_shutdown(&tcp->ending, (uv_stream_t *)&tcp->handle, on_tcp_ended);
}

/* ---- names ---- */

static size_t collect(const struct addrinfo *found, struct address *addresses)
{
    size_t count = 0;
    for (; found && count < TCP_ADDRESSES_MAX; found = found->ai_next) {
        bool known = !address_from_socket(&addresses[count], found->ai_addr);
        for (size_t i = 0; i < count && !known; i++)
            known = memcmp(&addresses[i], &addresses[count], sizeof(*addresses)) == 0;
        count += !known;
    }
    return count;
}

static void on_found(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    struct tcp_lookup *lookup = CONTAINER_OF(request, struct tcp_lookup, request);
    struct address addresses[TCP_ADDRESSES_MAX + 1];
    size_t count = status ? 0 : collect(found, addresses);
    uv_freeaddrinfo(found);
    if (lookup->freed)
        loop_count_dying(lookup->loop, -1);
    else
        lookup->done(lookup->data, addresses, count, status ? uv_strerror(status) : count ? NULL : "it has no address");
    free(lookup);
}

struct tcp_lookup *tcp_lookup(struct loop *loop, const char *name,
                              void (*done)(void *data, const struct address *found, size_t count, const char *why),
                              void *data)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct tcp_lookup *lookup = xcalloc(1, sizeof(*lookup));
    *lookup = (struct tcp_lookup){.loop = loop, .done = done, .data = data};
    if (strlen(name) >= NAME_MAX_IN || uv_getaddrinfo(loop_uv(loop), &lookup->request, on_found, name, NULL, &hints)) {
        free(lookup);
        return NULL;
    }
    return lookup;
}

void tcp_lookup_free(struct tcp_lookup *lookup)
{
    if (!lookup || lookup->freed)
        return;
    lookup->freed = true;
    loop_count_dying(lookup->loop, 1);
    uv_cancel((uv_req_t *)&lookup->request); /* a lookup that still waits for a thread returns at once */
}
