/* The parts of a model server on the loopback (bench/bench_http.h). */

#include "bench/bench_http.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

int bench_listen(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) || listen(fd, 8) ||
        getsockname(fd, (struct sockaddr *)&address, &len)) {
        fprintf(stderr, "bench: no server\n");
        exit(2);
    }
    *port = ntohs(address.sin_port);
    return fd;
}

void bench_no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static size_t content_length(const char *head)
{
    for (const char *line = head; (line = strchr(line, '\n')) && *++line;)
        if (strncasecmp(line, "content-length:", 15) == 0)
            return strtoul(line + 15, NULL, 10);
    return 0;
}

int bench_read_message(int fd, struct strbuf *in, size_t *body)
{
    const char *end = NULL;
    strbuf_reset(in);
    for (;;) {
        if (!end && (end = strstr(in->buf, "\r\n\r\n")))
            *body = (size_t)(end + 4 - in->buf);
        if (end && in->len >= *body + content_length(in->buf))
            return 0;
        strbuf_grow(in, 65536);
        ssize_t got = recv(fd, in->buf + in->len, 65536, 0);
        if (got <= 0)
            return -1;
        strbuf_set_len(in, in->len + (size_t)got);
        end = end ? in->buf + *body - 4 : NULL;
    }
}

void bench_send(int fd, const char *bytes, size_t len)
{
    for (ssize_t done; len; bytes += done, len -= (size_t)done)
        if ((done = send(fd, bytes, len, MSG_NOSIGNAL)) <= 0)
            return;
}

void bench_event(struct strbuf *out, const char *type, const char *rest)
{
    strbuf_addf(out, "event: %s\ndata: {\"type\":\"%s\",%s}\n\n", type, type, rest);
}

void bench_answer(struct strbuf *out, const struct strbuf *body)
{
    strbuf_addf(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %zu\r\n\r\n", body->len);
    strbuf_add(out, body->buf, body->len);
}
