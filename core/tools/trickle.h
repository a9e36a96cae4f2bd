#pragma once
/* What a program prints, on its way to people: bytes in, whole characters out, a piece every so often instead of one
 * for every read. What is no text comes out as U+FFFD. On the loop.
 *
 * After `max` bytes a program that floods is told in part: the newest lines, whose bytes are paid for with silence, so
 * that a journal grows by no more than TRICKLE_RATE from then on. What was left out between two pieces is counted in
 * the later one. The newest bytes are told in any case, so a prompt, or the echo of what was typed, is always seen; and
 * a program that prints no faster than that loses nothing. */

#include "base/loop.h"
#include "base/strbuf.h"
#include <inttypes.h>

#define TRICKLE_EVERY_US 40000
#define TRICKLE_PIECE    (16u << 10) /* so much is told at once, whatever the time */
#define TRICKLE_NEWEST   (4u << 10)  /* bytes of a piece, after `max` */
#define TRICKLE_RATE     (4u << 10)  /* bytes a second, likewise */
#define TRICKLE_LEFT_OUT "\n[%" PRIu64 " bytes that were printed here are not recorded]\n"

struct trickle {
    struct loop *loop;
    size_t max;                                             /* bytes that are told as they come */
    void (*tell)(void *user, const char *text, size_t len); /* NUL-terminated too */
    void *user;
    /* its own */
    struct loop_timer timer;
    struct strbuf held;
    size_t told;
    uint64_t left_out; /* bytes, since the last piece */
    int64_t silent_us; /* until then */
};

void trickle_init(struct trickle *trickle, struct loop *loop, size_t max,
                  void (*tell)(void *user, const char *text, size_t len), void *user);
void trickle_add(struct trickle *trickle, const char *bytes, size_t len);
/* Tells what is there; `end`: half a character too, nothing follows. */
void trickle_flush(struct trickle *trickle, bool end);
/* Tells nothing more. */
void trickle_release(struct trickle *trickle);
