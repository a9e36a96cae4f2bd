#pragma once
/* The two ends of a harness as the executor sees them: bytes in, bytes out, an end. A box (box.h) is one, over the
 * pipes of a real process; a test brings its own in virtual time. Everything on the loop thread. */

#include <stdbool.h>
#include <stddef.h>

struct channel;

struct channel_ops {
    /* Queues bytes for the harness's stdin. -1 when it is closed already; an end that comes later is told by `ended`.
     */
    int (*write)(struct channel *channel, const char *bytes, size_t len);
    /* Stop and go on reading: what is not read stays with the writer, who blocks. */
    void (*pause)(struct channel *channel, bool paused);
    /* Nothing more is read: the harness floods us or does not answer. */
    void (*close)(struct channel *channel);
};

struct channel {
    const struct channel_ops *ops;
    bool ordered; /* the harness promised in `ready` that nothing of an execution follows its script_done (D3) */
    /* Set by whoever listens; NULL while nobody does. Bytes that come while nobody listens are dropped. */
    void (*received)(struct channel *channel, const char *bytes, size_t len);
    void (*ended)(struct channel *channel);
    void *listener;
};
