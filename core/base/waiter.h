#pragma once
/* Somebody who waits for something that becomes known once: woken from the loop, once. */

struct waiter {
    struct waiter *next; /* of those who wait for the same */
    void (*wake)(struct waiter *waiter);
};
