#pragma once
/* Reads requests of programs to the forwarder: HTTP proxy requests and SOCKS 5. Pure functions over hostile bytes.
 *
 * Each gets all bytes received so far. FORWARDER_MORE: wait for more bytes. FORWARDER_READ: the request is complete and
 * took `used` bytes. FORWARDER_WRONG: the request is invalid and `why` says why. */

#include "base/strbuf.h"
#include "forwarder_rules.h"

#define FORWARDER_HEAD_MAX 8192

enum forwarder_read { FORWARDER_MORE, FORWARDER_READ, FORWARDER_WRONG };

/* Reads "CONNECT host:port", or a request for "http://host/…". The latter is rewritten for its host into `onward`:
 * by path, with the requested Host, without proxy headers, and as the only request of its connection. A tunnel
 * leaves `onward` empty. */
enum forwarder_read forwarder_http_read(const char *bytes, size_t len, struct network_target *target, bool *tunnel,
                                        struct strbuf *onward, size_t *used, struct err *why);

/* Reads the greeting, which must offer access without a password, and the request. `reply` is the code for an
 * invalid one (RFC 1928). */
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
