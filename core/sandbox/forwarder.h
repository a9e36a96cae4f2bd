#pragma once
/* The network forwarder: the only way out of a sandbox without a network.
 *
 * It runs on the host and serves a listening socket inside the sandbox:
 *
 *     struct forwarder *forwarder = forwarder_new(loop, &rules, &listener);
 *     forwarder_listen(forwarder, fd);           a listening TCP socket, made in the sandbox's network namespace
 *     …
 *     forwarder_free(forwarder);                 every connection ends
 *
 * Programs inside speak HTTP (CONNECT, or a request for http://…) or SOCKS 5 to it. The forwarder checks the host
 * against the rules, resolves it, checks every address, and connects to the very address that it checked. It knows
 * nothing of programs, calls or agents: each client has its own forwarder.
 *
 * All input from inside is hostile and bounded: connections, headers, time to connect, bytes in memory. If one side is
 * slow, the bytes of a connection wait in the kernel. */

#include "base/err.h"
#include "forwarder_rules.h"
#include <stdbool.h>
#include <stdint.h>

struct forwarder;
struct loop;

#define FORWARDER_CONNECTIONS_MAX     32  /* at a time; further ones wait */
#define FORWARDER_ALL_CONNECTIONS_MAX 128 /* of all forwarders, because Keyturn needs descriptors for other things */
#define FORWARDER_HOSTS_MAX           256 /* host and port pairs of one forwarder: each is recorded by name */
#define FORWARDER_HEAD_MS             15000
#define FORWARDER_CONNECT_MS          30000
#define FORWARDER_ATTEMPT_MS          5000 /* for one address, if there are others */

struct forwarder_connection {
    const char *host; /* as requested */
    uint16_t port;
    uint64_t sent, received; /* bytes, from the program's side */
};

/* Any callback may be NULL. None may free the forwarder. */
struct forwarder_listener {
    void (*connected)(void *user, const struct forwarder_connection *connection); /* before any byte goes out */
    /* Not allowed, not resolved, not reached or not understood. `connection` NULL: the request named no host. */
    void (*refused)(void *user, const struct forwarder_connection *connection, const char *why);
    void (*closed)(void *user, const struct forwarder_connection *connection); /* for each that was connected */
    void *user;
};

/* The rules are copied. */
struct forwarder *forwarder_new(struct loop *loop, const struct network_rules *rules,
                                const struct forwarder_listener *listener);
/* Takes the descriptor, also on failure. One listening socket per forwarder. */
int forwarder_listen(struct forwarder *forwarder, int take_fd, struct err *err) CHECKED;
/* Ends open connections and reports each. NULL is fine. */
void forwarder_free(struct forwarder *forwarder);
