#pragma once
/* What a program prints, on its way to people: bytes in, whole characters out, a piece every so often instead of one for
 * every read, and no more than `max` bytes in all, so that a program that floods costs a journal no more than that. What
 * is no text comes out as U+FFFD. On the loop. */

#include "base/loop.h"
#include "base/strbuf.h"

#define TRICKLE_EVERY_US 40000
#define TRICKLE_PIECE    (16u << 10) /* so much is told at once, whatever the time */
#define TRICKLE_CUT      "\n[more was printed; it is not recorded]\n"

struct trickle {
    struct loop *loop;
    size_t max; /* bytes that are told */
    void (*tell)(void *user, const char *text, size_t len); /* NUL-terminated too */
    void *user;
    /* its own */
    struct loop_timer timer;
    struct strbuf held;
    size_t told;
    bool cut;
};

void trickle_init(struct trickle *trickle, struct loop *loop, size_t max,
                  void (*tell)(void *user, const char *text, size_t len), void *user);
void trickle_add(struct trickle *trickle, const char *bytes, size_t len);
/* Tells what is there; `end`: half a character too, nothing follows. */
void trickle_flush(struct trickle *trickle, bool end);
/* Tells nothing more. */
void trickle_release(struct trickle *trickle);
