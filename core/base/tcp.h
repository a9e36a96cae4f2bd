#pragma once
/* TCP on the loop: a given listening socket, connections, name lookup.
 *
 * Bytes are passed on as they arrive. A receiver that cannot take more pauses the other side, so nothing piles up.
 *
 * Callbacks run only from the loop, never during a call, and never after tcp_free. */

#include "address.h"
#include "err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct tcp;
struct tcp_listener;
struct tcp_lookup;

#define TCP_ADDRESSES_MAX 16 /* of one name */

struct tcp_events {
    void (*connected)(void *data, int code);                     /* tcp_connect: 0, or an errno value */
    void (*received)(void *data, const char *bytes, size_t len); /* len 0: the other side has ended its stream */
    void (*drained)(void *data);                                 /* all queued bytes are sent */
    void (*failed)(void *data);                                  /* the connection broke, in either direction */
    void *data;
};

/* Takes the descriptor, which must be a listening TCP socket of any network namespace; closes it on failure too.
 * `ready`: tcp_accept has a connection. Until it is accepted, further ones wait. */
struct tcp_listener *tcp_listen(struct loop *loop, int take_fd, void (*ready)(void *data), void *data,
                                struct err *err) CHECKED;
void tcp_listener_free(struct tcp_listener *listener);
/* Returns NULL if no connection waits. The connection starts paused. */
struct tcp *tcp_accept(struct tcp_listener *listener, const struct tcp_events *events);

/* Connects to that very address. The connection starts paused. Returns NULL and errno if the kernel refuses at once. */
struct tcp *tcp_connect(struct loop *loop, const struct address *address, uint16_t port,
                        const struct tcp_events *events);
void tcp_pause(struct tcp *tcp, bool paused);
void tcp_write(struct tcp *tcp, const char *bytes, size_t len); /* copies the bytes */
size_t tcp_unwritten(const struct tcp *tcp);
/* Ends writing: queued bytes are sent, then the other side sees the end. */
void tcp_end(struct tcp *tcp);
void tcp_free(struct tcp *tcp); /* NULL is fine; drops queued bytes */

/* Asks the machine's resolver, on the pool. Calls `done` once, with addresses without repeats, or with none and the
 * reason. */
struct tcp_lookup *tcp_lookup(struct loop *loop, const char *name,
                              void (*done)(void *data, const struct address *found, size_t count, const char *why),
                              void *data);
void tcp_lookup_free(struct tcp_lookup *lookup); /* drops the callback; not needed after `done` */
