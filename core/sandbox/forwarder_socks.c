/* SOCKS 5 (RFC 1928): see forwarder_request.h. */

#include "forwarder_request.h"
#include <string.h>

enum { SOCKS_NO_PASSWORD = 0, SOCKS_CONNECT = 1, SOCKS_IPV4 = 1, SOCKS_NAME = 3, SOCKS_IPV6 = 4 };

static enum forwarder_read wrong(struct err *why, const char *text)
{
    err_set(why, "%s", text);
    return FORWARDER_WRONG;
}

enum forwarder_read forwarder_socks_greet(const char *bytes, size_t len, size_t *used, struct err *why)
{
    if (len >= 1 && bytes[0] != SOCKS_VERSION)
        return wrong(why, "this is not SOCKS 5");
    if (len < 2 || len < 2 + (size_t)(unsigned char)bytes[1])
        return FORWARDER_MORE;
    size_t count = (unsigned char)bytes[1];
    *used = 2 + count;
    if (!memchr(bytes + 2, SOCKS_NO_PASSWORD, count))
        return wrong(why, "SOCKS works without a password here alone");
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
        return wrong(why, "this is not SOCKS 5");
    size_t from = at[3] == SOCKS_NAME ? 5 : 4;
    size_t room = at[3] == SOCKS_IPV4 ? 4 : at[3] == SOCKS_IPV6 ? 16 : at[3] == SOCKS_NAME ? at[4] : 0;
    if (at[3] != SOCKS_NAME && !room) {
        *reply = SOCKS_NO_ADDRESS;
        return wrong(why, "SOCKS knows no such kind of address");
    }
    if (len < from + room + 2)
        return FORWARDER_MORE;
    *used = from + room + 2;
    if (at[1] != SOCKS_CONNECT) {
        *reply = SOCKS_NO_COMMAND;
        return wrong(why, "SOCKS only connects here: it neither listens nor sends datagrams");
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
