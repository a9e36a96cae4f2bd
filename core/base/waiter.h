#pragma once
/* A waiter for something that becomes known once. The loop wakes it once. */

struct waiter {
    struct waiter *next; /* list of waiters for the same thing */
    void (*wake)(struct waiter *waiter);
};
