/* Reads the host's lines and writes the harness's lines without blocking. */

#include "protocol.h"
#include "request.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAIN_MS 1000

void protocol_init(struct protocol *protocol)
{
    struct stat st;
    *protocol = (struct protocol){.in = STRBUF_INIT};
    protocol->out_is_socket = fstat(STDOUT_FILENO, &st) == 0 && S_ISSOCK(st.st_mode);
}

void protocol_release(struct protocol *protocol)
{
    strbuf_release(&protocol->in);
}

/* ---- in ---- */

bool protocol_wants(const struct protocol *protocol)
{
    const size_t waiting = protocol->in.len - protocol->taken;
    /* Keep reading an unfinished line; complete lines can wait. */
    return !protocol->end && (waiting == protocol->seen || waiting < ((size_t)64 << 10));
}

void protocol_read(struct protocol *protocol)
{
    if (protocol->taken) {
        memmove(protocol->in.buf, protocol->in.buf + protocol->taken, protocol->in.len - protocol->taken);
        strbuf_set_len(&protocol->in, protocol->in.len - protocol->taken);
        protocol->taken = 0;
    }
    strbuf_grow(&protocol->in, (size_t)64 << 10);
    ssize_t count = read(STDIN_FILENO, protocol->in.buf + protocol->in.len, (size_t)64 << 10);
    if (count > 0)
        strbuf_set_len(&protocol->in, protocol->in.len + (size_t)count);
    else if (count == 0 || (errno != EINTR && errno != EAGAIN))
        protocol->end = true;
}

char *protocol_next_line(struct protocol *protocol, size_t *len, enum protocol_line *found)
{
    char *start = protocol->in.buf + protocol->taken;
    const size_t waiting = protocol->in.len - protocol->taken;
    char *newline = memchr(start + protocol->seen, '\n', waiting - protocol->seen);
    const bool skipped = protocol->skipping;
    if (!newline && !protocol->end) {
        protocol->seen = waiting;
        if (waiting > REQUEST_MAX) {
            strbuf_reset(&protocol->in);
            protocol->taken = protocol->seen = 0;
            protocol->skipping = true;
        }
        *found = PROTOCOL_NONE;
        return NULL;
    }
    *len = newline ? (size_t)(newline - start) : waiting;
    protocol->taken += *len + (newline != NULL);
    protocol->seen = 0;
    protocol->skipping = false;
    *found = PROTOCOL_LINE;
    if (skipped || *len > REQUEST_MAX)
        *found = PROTOCOL_TOO_LONG;
    else if (!newline && !*len)
        *found = PROTOCOL_END;
    return *found == PROTOCOL_LINE ? start : NULL;
}

/* ---- out ---- */

/* Writes without blocking: a socket has a flag for that, and a pipe that is ready takes PIPE_BUF bytes. */
static ssize_t write_some(const struct protocol *protocol, const char *bytes, size_t len)
{
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (protocol->out_is_socket)
        return send(STDOUT_FILENO, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (poll(&ready, 1, 0) <= 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(STDOUT_FILENO, bytes, len < PIPE_BUF ? len : PIPE_BUF);
}

void protocol_write(struct protocol *protocol, struct strbuf *out)
{
    size_t done = 0;
    while (done < out->len && !protocol->broken) {
        ssize_t count = write_some(protocol, out->buf + done, out->len - done);
        if (count > 0)
            done += (size_t)count;
        else if (count < 0 && errno == EAGAIN)
            break;
        else if (!(count < 0 && errno == EINTR))
            protocol->broken = true; /* poll reports that to the loop */
    }
    if (protocol->broken)
        done = out->len;
    memmove(out->buf, out->buf + done, out->len - done);
    strbuf_set_len(out, out->len - done);
}

void protocol_drain(struct protocol *protocol, struct strbuf *out)
{
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
    protocol_write(protocol, out);
    while (out->len && poll(&ready, 1, DRAIN_MS) > 0)
        protocol_write(protocol, out);
}
