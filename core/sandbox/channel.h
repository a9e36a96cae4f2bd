#pragma once
/* The channel to a harness as the executor sees it: bytes in, bytes out, an end.
 *
 * A box (box.h) is a channel over the pipes of a real process. Tests bring their own in virtual time. All functions
 * run on the loop thread. */

#include <stdbool.h>
#include <stddef.h>

struct channel;

struct channel_ops {
    /* Queues bytes for the harness's stdin. Returns -1 if it is already closed; `ended` reports a later end. */
    int (*write)(struct channel *channel, const char *bytes, size_t len);
    /* Pauses and resumes reading. Unread bytes stay with the writer, which blocks. */
    void (*pause)(struct channel *channel, bool paused);
    /* Stops reading for good: the harness floods us or does not answer. */
    void (*close)(struct channel *channel);
};

struct channel {
    const struct channel_ops *ops;
    bool ordered; /* the harness promised in `ready` that no event of an execution follows its script_done */
    /* The listener sets these; NULL without a listener. Bytes that arrive without a listener are dropped. */
    void (*received)(struct channel *channel, const char *bytes, size_t len);
    void (*ended)(struct channel *channel);
    void *listener;
};
