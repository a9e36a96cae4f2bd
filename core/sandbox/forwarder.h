#pragma once
/* The one way out of a sandbox that has no network: a forwarder on the host's side of a listening socket that is
 * inside.
 *
 *     struct forwarder *forwarder = forwarder_new(loop, &rules, &listener);
 *     forwarder_listen(forwarder, fd);           a listening TCP socket, made in the sandbox's network namespace
 *     …
 *     forwarder_free(forwarder);                 every connection ends
 *
 * Whoever is inside speaks HTTP (CONNECT, or a request for http://…) or SOCKS 5 there. The forwarder checks the host
 * against the rules, resolves it, checks every address, and connects to the very address that it checked. It knows
 * nothing of programs, calls or agents: who asks is whose forwarder it is.
 *
 * All that comes from inside is hostile and bounded: connections, headers, time until they are made, bytes in memory.
 * Bytes of a connection wait in the kernel when the other side is slow. */

#include "base/err.h"
#include "forwarder_rules.h"
#include <stdbool.h>
#include <stdint.h>

struct forwarder;
struct loop;

#define FORWARDER_CONNECTIONS_MAX     32  /* at a time; others wait */
#define FORWARDER_ALL_CONNECTIONS_MAX 128 /* of all forwarders: descriptors are needed for other things */
#define FORWARDER_HOSTS_MAX           256 /* with their ports, of one forwarder: each is recorded by name */
#define FORWARDER_HEAD_MS             15000
#define FORWARDER_CONNECT_MS          30000
#define FORWARDER_ATTEMPT_MS          5000 /* for one address, while there are others */

struct forwarder_connection {
    const char *host; /* as it was asked for */
    uint16_t port;
    uint64_t sent, received; /* bytes, as the one inside sees it */
};

/* Any may be NULL. The forwarder must not be freed from within. */
struct forwarder_listener {
    void (*connected)(void *user, const struct forwarder_connection *connection); /* before any byte goes out */
    /* Not allowed, not resolved, not reached or not understood; `connection` NULL: it never said where to. */
    void (*refused)(void *user, const struct forwarder_connection *connection, const char *why);
    void (*closed)(void *user, const struct forwarder_connection *connection); /* of each that was connected */
    void *user;
};

/* The rules are copied. */
struct forwarder *forwarder_new(struct loop *loop, const struct network_rules *rules,
                                const struct forwarder_listener *listener);
/* Takes the descriptor, on failure too. One listening socket for each forwarder. */
int forwarder_listen(struct forwarder *forwarder, int take_fd, struct err *err) CHECKED;
/* Ends what is open, and tells so. NULL: nothing. */
void forwarder_free(struct forwarder *forwarder);
