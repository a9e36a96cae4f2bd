#pragma once
/* TCP on the loop: a listening socket that somebody else made, connections, names. Bytes are handed on as they come;
 * who cannot take more pauses the other side, so nothing piles up.
 *
 * Nobody is called from within a call but from the loop, and nobody after tcp_free. */

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
    void (*received)(void *data, const char *bytes, size_t len); /* len 0: the other side says no more */
    void (*drained)(void *data);                                 /* all that was written is out */
    void (*failed)(void *data);                                  /* it is broken, in either direction */
    void *data;
};

/* Takes the descriptor, which must be a listening TCP socket of any network namespace; it is closed on failure too.
 * `ready`: tcp_accept has one. One that is not accepted keeps the next ones waiting. */
struct tcp_listener *tcp_listen(struct loop *loop, int take_fd, void (*ready)(void *data), void *data,
                                struct err *err) CHECKED;
void tcp_listener_free(struct tcp_listener *listener);
/* NULL: there is none at the moment. It is paused at first. */
struct tcp *tcp_accept(struct tcp_listener *listener, const struct tcp_events *events);

/* To that very address. Paused at first. NULL and errno where the kernel says no at once. */
struct tcp *tcp_connect(struct loop *loop, const struct address *address, uint16_t port,
                        const struct tcp_events *events);
void tcp_pause(struct tcp *tcp, bool paused);
void tcp_write(struct tcp *tcp, const char *bytes, size_t len); /* copies */
size_t tcp_unwritten(const struct tcp *tcp);
/* No more is written: what is queued goes out, then the other side hears the end. */
void tcp_end(struct tcp *tcp);
void tcp_free(struct tcp *tcp); /* NULL-safe; what is queued is dropped */

/* Asks the machine's resolver, on the pool. `done` once: addresses without repeats, or none and why. */
struct tcp_lookup *tcp_lookup(struct loop *loop, const char *name,
                              void (*done)(void *data, const struct address *found, size_t count, const char *why),
                              void *data);
void tcp_lookup_free(struct tcp_lookup *lookup); /* `done` is not called any more; not needed after it was */
