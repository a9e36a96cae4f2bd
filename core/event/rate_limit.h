#pragma once
/* Records what a program prints, as events: whole characters, an event every so often instead of one for every read.
 * What is no text becomes U+FFFD. On the loop.
 *
 *     rate_limit_init(&limit, loop, max, emitter, &(struct event){.type = EVENT_PROGRAM_OUTPUT, …});
 *     rate_limit_add(&limit, bytes, len);                   as they are read
 *     rate_limit_flush(&limit, true);                       nothing follows
 *     rate_limit_release(&limit);
 *
 * After `max` bytes a program that floods is recorded in part: the newest lines, whose bytes are paid for with silence,
 * so that a journal grows by no more than RATE_LIMIT_RATE from then on. What was left out between two events is counted
 * in the later one. The newest bytes are recorded in any case, so a prompt, or the echo of what was typed, is always
 * seen; and a program that prints no faster than that loses nothing. */

#include "base/loop.h"
#include "base/strbuf.h"
#include "emitter.h"
#include <inttypes.h>

#define RATE_LIMIT_EVERY_US 40000
#define RATE_LIMIT_PIECE    (16u << 10) /* so much is recorded at once, whatever the time */
#define RATE_LIMIT_NEWEST   (4u << 10)  /* bytes of an event, after `max` */
#define RATE_LIMIT_RATE     (4u << 10)  /* bytes a second, likewise */
#define RATE_LIMIT_LEFT_OUT "\n[%" PRIu64 " bytes that were printed here are not recorded]\n"

struct rate_limit {
    struct loop *loop;
    size_t max; /* bytes that are recorded as they come */
    struct emitter *emitter;
    struct event event; /* all of it but its text */
    /* its own */
    struct loop_timer timer;
    struct strbuf held;
    size_t recorded;
    uint64_t left_out; /* bytes, since the last event */
    int64_t silent_us; /* until then */
};

/* `event`: a program.output or a tool.output, whose texts live as long as this. */
void rate_limit_init(struct rate_limit *limit, struct loop *loop, size_t max, struct emitter *emitter,
                     const struct event *event);
void rate_limit_add(struct rate_limit *limit, const char *bytes, size_t len);
/* Records what is there; `end`: half a character too, nothing follows. */
void rate_limit_flush(struct rate_limit *limit, bool end);
/* Records nothing more. All zero, or again: nothing happens. */
void rate_limit_release(struct rate_limit *limit);
