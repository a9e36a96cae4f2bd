#pragma once
/* What a program says to the forwarder, read: HTTP proxy requests and SOCKS 5. Pure functions over hostile bytes.
 *
 * Each looks at the bytes that are there: more are needed, or it is read and `used` of them were, or it is wrong and
 * why says so. */

#include "base/strbuf.h"
#include "forwarder_rules.h"

#define FORWARDER_HEAD_MAX 8192

enum forwarder_read { FORWARDER_MORE, FORWARDER_READ, FORWARDER_WRONG };

/* forwarder_http.c: "CONNECT host:port", or a request for "http://host/…", which is written anew for its host into
 * `onward`: by path, with the Host it asked for, without what is meant for a proxy, and as the only one of its
 * connection. A tunnel leaves it empty. */
enum forwarder_read forwarder_http_read(const char *bytes, size_t len, struct network_target *target, bool *tunnel,
                                        struct strbuf *onward, size_t *used, struct err *why);

/* forwarder_socks.c: the greeting, which must offer to go without a password, and the request. `reply` is the number of
 * a wrong one (RFC 1928). */
#define SOCKS_VERSION     5
#define SOCKS_FAILED      1
#define SOCKS_REFUSED     2
#define SOCKS_UNREACHABLE 4
#define SOCKS_NO_ANSWER   6
#define SOCKS_NO_COMMAND  7
#define SOCKS_NO_ADDRESS  8
enum forwarder_read forwarder_socks_greet(const char *bytes, size_t len, size_t *used, struct err *why);
enum forwarder_read forwarder_socks_read(const char *bytes, size_t len, struct network_target *target, size_t *used,
                                         uint8_t *reply, struct err *why);
