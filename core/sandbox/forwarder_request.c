/* Reads what a program asks the forwarder for: SOCKS 5 (RFC 1928), then HTTP proxy requests.
 *
 * Both are pure functions over hostile bytes. forwarder.c calls them again with more bytes as long as they return
 * FORWARDER_MORE. */

#include "forwarder_request.h"
#include "base/mem.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { SOCKS_NO_PASSWORD = 0, SOCKS_CONNECT = 1, SOCKS_IPV4 = 1, SOCKS_NAME = 3, SOCKS_IPV6 = 4 };

static enum forwarder_read set_wrong(struct err *why, const char *text)
{
    err_set(why, "%s", text);
    return FORWARDER_WRONG;
}

enum forwarder_read forwarder_socks_greet(const char *bytes, size_t len, size_t *used, struct err *why)
{
    if (len >= 1 && bytes[0] != SOCKS_VERSION)
        return set_wrong(why, "this is not SOCKS 5");
    if (len < 2 || len < 2 + (size_t)(unsigned char)bytes[1])
        return FORWARDER_MORE;
    size_t count = (unsigned char)bytes[1];
    *used = 2 + count;
    if (!memchr(bytes + 2, SOCKS_NO_PASSWORD, count))
        return set_wrong(why, "only SOCKS without a password is supported");
    return FORWARDER_READ;
}

enum forwarder_read forwarder_socks_read(const char *bytes, size_t len, struct network_target *target, size_t *used,
                                         uint8_t *reply, struct err *why)
{
    const unsigned char *at = (const unsigned char *)bytes;
    char text[ADDRESS_TEXT_MAX];
    struct address address = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
    *reply = SOCKS_FAILED;
    if (len < 5)
        return FORWARDER_MORE;
    if (at[0] != SOCKS_VERSION)
        return set_wrong(why, "this is not SOCKS 5");
    size_t from = at[3] == SOCKS_NAME ? 5 : 4;
    size_t room = at[3] == SOCKS_IPV4 ? 4 : at[3] == SOCKS_IPV6 ? 16 : at[3] == SOCKS_NAME ? at[4] : 0;
    if (at[3] != SOCKS_NAME && !room) {
        *reply = SOCKS_NO_ADDRESS;
        return set_wrong(why, "unknown SOCKS address type");
    }
    if (len < from + room + 2)
        return FORWARDER_MORE;
    *used = from + room + 2;
    if (at[1] != SOCKS_CONNECT) {
        *reply = SOCKS_NO_COMMAND;
        return set_wrong(why, "only SOCKS CONNECT is supported");
    }
    unsigned long port = (unsigned long)at[from + room] << 8 | at[from + room + 1];
    const char *host = bytes + from;
    if (at[3] != SOCKS_NAME) {
        memcpy(address.ip + sizeof(address.ip) - room, at + from, room);
        host = address_text(&address, text);
        room = strlen(host);
    }
    return network_target_set(target, host, room, port, why) ? FORWARDER_WRONG : FORWARDER_READ;
}

/* ---- HTTP ---- */

/* Lines must end in CRLF and contain no control characters. Anything unusual is an error: the host must not read a
 * request differently from the forwarder. */

#define HTTP_PORT 80

struct header_line {
    const char *text;
    size_t len;
};

/* Reads the next line, without its end; false: no line is left. */
static bool next_line(const char **at, const char *end, struct header_line *line)
{
    const char *stop = *at < end ? memmem(*at, (size_t)(end - *at), "\r\n", 2) : NULL;
    if (!stop)
        return false;
    *line = (struct header_line){*at, (size_t)(stop - *at)};
    *at = stop + 2;
    return true;
}

static bool is_plain(const struct header_line *line)
{
    for (size_t i = 0; i < line->len; i++)
        if (((unsigned char)line->text[i] < ' ' && line->text[i] != '\t') || line->text[i] == 0x7f)
            return false;
    return true;
}

static bool is_token(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !memchr("!#$%&'*+-.^_`|~", text[i], 15))
            return false;
    return len > 0;
}

/* "host", "host:port", "[::1]:port"; `port` 0: the text must name one. */
static int read_authority(const char *text, size_t len, uint16_t port, struct network_target *target, struct err *why)
{
    const char *end = text + len, *bracket = len && *text == '[' ? memchr(text, ']', len) : NULL;
    const char *from = bracket ? bracket : text;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    if (memchr(text, '@', len))
        return err_set(why, "a user name before the host is not allowed");
    if (bracket && bracket + 1 != end && bracket[1] != ':')
        return err_set(why, "unexpected text after the \"]\" of the address");
    if (colon && colon + 1 < end) {
        port = network_port_parse(colon + 1, (size_t)(end - colon - 1));
        if (!port)
            return err_set(why, "a port is a number from 1 to 65535");
    }
    if (!port)
        return err_set(why, "the port is missing");
    return network_target_set(target, text, (size_t)((colon ? colon : end) - text), port, why);
}

/* True for headers between the program and us, and for those that we write ourselves. */
static bool is_left_out(const char *name, size_t len)
{
    static const char *const names[] = {"host", "connection", "keep-alive", "upgrade", "te"};
    if (len > 6 && strncasecmp(name, "proxy-", 6) == 0)
        return true;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i]) == len && strncasecmp(name, names[i], len) == 0)
            return true;
    return false;
}

static enum forwarder_read read_fields(const char *at, const char *end, struct strbuf *onward, struct err *why)
{
    for (struct header_line line; next_line(&at, end, &line) && line.len;) {
        const char *colon = memchr(line.text, ':', line.len);
        size_t name = colon ? (size_t)(colon - line.text) : 0;
        if (!is_token(line.text, name) || !is_plain(&line))
            return set_wrong(why, "a line of the header is not \"Name: value\"");
        if (is_left_out(line.text, name))
            continue;
        strbuf_add(onward, line.text, line.len);
        strbuf_addstr(onward, "\r\n");
    }
    return FORWARDER_READ;
}

static void write_host(const struct network_target *target, struct strbuf *onward)
{
    bool six = target->is_address && strchr(target->host, ':');
    strbuf_addf(onward, "Host: %s%s%s", six ? "[" : "", target->host, six ? "]" : "");
    if (target->port != HTTP_PORT)
        strbuf_addf(onward, ":%u", target->port);
    strbuf_addstr(onward, "\r\nConnection: close\r\n");
}

/* "http://host:port/path?query" */
static enum forwarder_read read_url(const struct header_line *method, const struct header_line *url,
                                    const struct header_line *version, struct network_target *target,
                                    struct strbuf *onward, struct err *why)
{
    static const char scheme[] = "http://";
    size_t skip = sizeof(scheme) - 1;
    if (url->len < skip || strncasecmp(url->text, scheme, skip) != 0)
        return set_wrong(why, "request http://host/… or CONNECT host:port");
    const char *host = url->text + skip, *end = url->text + url->len, *path = host;
    while (path < end && !memchr("/?#", *path, 3))
        path++;
    const char *stop = memchr(path, '#', (size_t)(end - path));
    if (read_authority(host, (size_t)(path - host), HTTP_PORT, target, why))
        return FORWARDER_WRONG;
    size_t len = (size_t)((stop ? stop : end) - path);
    strbuf_add(onward, method->text, method->len);
    strbuf_addf(onward, " %s%.*s %.*s\r\n", len && *path == '/' ? "" : "/", (int)len, path, (int)version->len,
                version->text);
    write_host(target, onward);
    return FORWARDER_READ;
}

static bool split(const struct header_line *line, struct header_line *method, struct header_line *url,
                  struct header_line *version)
{
    const char *end = line->text + line->len, *first = memchr(line->text, ' ', line->len);
    const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;
    if (!second)
        return false;
    *method = (struct header_line){line->text, (size_t)(first - line->text)};
    *url = (struct header_line){first + 1, (size_t)(second - first - 1)};
    *version = (struct header_line){second + 1, (size_t)(end - second - 1)};
    for (size_t i = 0; i < url->len; i++)
        if ((unsigned char)url->text[i] <= ' ' || (unsigned char)url->text[i] >= 0x7f)
            return false;
    return is_token(method->text, method->len) && url->len && version->len == 8 &&
           (memcmp(version->text, "HTTP/1.1", 8) == 0 || memcmp(version->text, "HTTP/1.0", 8) == 0);
}

enum forwarder_read forwarder_http_read(const char *bytes, size_t len, struct network_target *target, bool *tunnel,
                                        struct strbuf *onward, size_t *used, struct err *why)
{
    size_t looked = len < FORWARDER_HEAD_MAX ? len : FORWARDER_HEAD_MAX;
    const char *last = looked ? memmem(bytes, looked, "\r\n\r\n", 4) : NULL, *at = bytes;
    struct header_line first, method, url, version;
    if (!last && len >= FORWARDER_HEAD_MAX)
        return set_wrong(why, "the header of the request is longer than 8 KB");
    if (!last)
        return FORWARDER_MORE;
    const char *end = last + 4;
    *used = (size_t)(end - bytes);
    strbuf_reset(onward);
    if (!next_line(&at, end, &first) || !split(&first, &method, &url, &version))
        return set_wrong(why, "the first line is not \"METHOD target HTTP/1.1\"");
    *tunnel = method.len == 7 && memcmp(method.text, "CONNECT", 7) == 0;
    enum forwarder_read read = FORWARDER_READ;
    if (!*tunnel)
        read = read_url(&method, &url, &version, target, onward, why);
    else if (read_authority(url.text, url.len, 0, target, why))
        read = FORWARDER_WRONG;
    if (read == FORWARDER_READ)
        read = read_fields(at, end, onward, why);
    if (*tunnel)
        strbuf_reset(onward);
    else
        strbuf_addstr(onward, "\r\n");
    return read;
}
