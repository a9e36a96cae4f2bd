/* An HTTP server on the loopback that gives prepared answers. */

#include "model_server.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

struct prepared {
    struct strbuf bytes; /* head and body */
    size_t piece;
    bool closes, resets, silent;
};

struct model_server {
    pthread_t thread;
    int listener;
    char url[64];
    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t gone_changed;
    struct prepared *answers;
    size_t count, room, next;
    char **requests;
    size_t request_count, request_room, connections, gone;
    int open; /* the connection being served; -1: none */
    bool ends;
};

static size_t body_length(const char *head)
{
    for (const char *line = head; (line = strchr(line, '\n')) && *++line;)
        if (strncasecmp(line, "content-length:", 15) == 0)
            return strtoul(line + 15, NULL, 10);
    return 0;
}

/* Reads one request with its body; returns false if the connection ended. */
static bool read_request(int fd, struct strbuf *in)
{
    const char *end;
    size_t whole = 0;
    for (;;) {
        end = strstr(in->buf, "\r\n\r\n");
        whole = end ? (size_t)(end + 4 - in->buf) + body_length(in->buf) : 0;
        if (end && in->len >= whole)
            return true;
        strbuf_grow(in, 65536);
        ssize_t got = recv(fd, in->buf + in->len, 65536, 0);
        if (got <= 0)
            return false;
        strbuf_set_len(in, in->len + (size_t)got);
    }
}

static bool send_all(int fd, const struct prepared *answer)
{
    for (size_t at = 0; at < answer->bytes.len;) {
        size_t left = answer->bytes.len - at, now = answer->piece && answer->piece < left ? answer->piece : left;
        ssize_t done = send(fd, answer->bytes.buf + at, now, MSG_NOSIGNAL);
        if (done <= 0)
            return false;
        at += (size_t)done;
    }
    return true;
}

static void note_request(struct model_server *server, struct strbuf *in)
{
    GROW(server->requests, server->request_count, server->request_room);
    server->requests[server->request_count++] = strbuf_detach(in, NULL);
}

static void serve_connection(struct model_server *server, int fd)
{
    struct strbuf in = STRBUF_INIT;
    bool more = true;
    while (more && read_request(fd, &in)) {
        pthread_mutex_lock(&server->lock);
        note_request(server, &in);
        size_t which = server->next < server->count ? server->next++ : server->count - 1;
        struct prepared answer = server->count ? server->answers[which] : (struct prepared){0};
        struct strbuf bytes = STRBUF_INIT; /* a copy: the test may prepare other answers while this one is sent */
        if (server->count)
            strbuf_add(&bytes, answer.bytes.buf, answer.bytes.len);
        answer.bytes = bytes;
        pthread_mutex_unlock(&server->lock);
        more = send_all(fd, &answer) && !answer.closes;
        if (answer.resets)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        if (answer.silent) {
            char byte;
            while (recv(fd, &byte, 1, 0) > 0)
                ;
            pthread_mutex_lock(&server->lock);
            server->gone++;
            pthread_cond_broadcast(&server->gone_changed);
            pthread_mutex_unlock(&server->lock);
            more = false;
        }
        strbuf_release(&answer.bytes);
    }
    strbuf_release(&in);
}

static void *serve(void *data)
{
    struct model_server *server = data;
    for (int fd; (fd = accept(server->listener, NULL, NULL)) >= 0;) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        pthread_mutex_lock(&server->lock);
        server->connections++;
        server->open = fd;
        bool ends = server->ends;
        pthread_mutex_unlock(&server->lock);
        if (!ends)
            serve_connection(server, fd);
        pthread_mutex_lock(&server->lock);
        server->open = -1;
        pthread_mutex_unlock(&server->lock);
        close(fd);
    }
    return NULL;
}

struct model_server *model_server_new(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    struct model_server *server = xcalloc(1, sizeof(*server));
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->gone_changed, NULL);
    server->open = -1;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listener < 0 || bind(server->listener, (struct sockaddr *)&address, len) ||
        listen(server->listener, 64) || getsockname(server->listener, (struct sockaddr *)&address, &len) ||
        pthread_create(&server->thread, NULL, serve, server)) {
        perror("model server");
        abort();
    }
    snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
    return server;
}

void model_server_free(struct model_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->ends = true;
    if (server->open >= 0)
        shutdown(server->open, SHUT_RDWR);
    pthread_mutex_unlock(&server->lock);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    model_server_reset(server);
    free(server->answers);
    free(server->requests);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->gone_changed);
    free(server);
}

const char *model_server_url(const struct model_server *server)
{
    return server->url;
}

static void add_head(struct strbuf *out, const struct served *served, size_t len)
{
    const char *type = served->type ? served->type : "text/event-stream";
    strbuf_addf(out, "HTTP/1.1 %s\r\n", served->status ? served->status : "200 OK");
    if (*type)
        strbuf_addf(out, "Content-Type: %s\r\n", type);
    if (!served->lengthless)
        strbuf_addf(out, "Content-Length: %zu\r\n", len + (served->promises_more || served->silent ? 1000 : 0));
    else
        strbuf_addstr(out, "Connection: close\r\n");
    strbuf_addf(out, "%s\r\n", served->more ? served->more : "");
}

void model_server_add(struct model_server *server, const struct served *served)
{
    const char *body = served->body ? served->body : "";
    size_t len = served->len ? served->len : strlen(body);
    struct prepared answer = {.bytes = STRBUF_INIT,
                              .piece = served->piece,
                              .closes = served->lengthless || served->promises_more || served->closes ||
                                        served->resets || served->raw,
                              .resets = served->resets,
                              .silent = served->silent};
    if (!served->raw)
        add_head(&answer.bytes, served, len);
    strbuf_add(&answer.bytes, body, len);
    pthread_mutex_lock(&server->lock);
    GROW(server->answers, server->count, server->room);
    server->answers[server->count++] = answer;
    pthread_mutex_unlock(&server->lock);
}

void model_server_reset(struct model_server *server)
{
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->count; i++)
        strbuf_release(&server->answers[i].bytes);
    for (size_t i = 0; i < server->request_count; i++)
        free(server->requests[i]);
    server->count = server->next = server->request_count = server->gone = 0;
    pthread_mutex_unlock(&server->lock);
}

size_t model_server_count(struct model_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->request_count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

size_t model_server_connections(struct model_server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->connections;
    pthread_mutex_unlock(&server->lock);
    return count;
}

char *model_server_request(struct model_server *server, size_t i)
{
    pthread_mutex_lock(&server->lock);
    char *request = xstrdup(i < server->request_count ? server->requests[i] : "");
    pthread_mutex_unlock(&server->lock);
    return request;
}

char *model_server_body(struct model_server *server)
{
    CLEANUP(free) char *request = model_server_request(server, model_server_count(server) - 1);
    const char *body = strstr(request, "\r\n\r\n");
    return xstrdup(body ? body + 4 : "");
}

void model_server_wait_gone(struct model_server *server)
{
    pthread_mutex_lock(&server->lock);
    while (!server->gone)
        pthread_cond_wait(&server->gone_changed, &server->lock);
    pthread_mutex_unlock(&server->lock);
}
