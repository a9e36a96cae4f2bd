#pragma once
/* Records the output of a program as events, at a limited rate.
 *
 * Events hold whole characters. One event covers many reads. Bytes that are not text become U+FFFD. Everything runs on
 * the loop.
 *
 *     rate_limit_init(&limit, loop, max, emitter, &(struct event){.type = EVENT_PROGRAM_OUTPUT, …});
 *     rate_limit_add(&limit, bytes, len);                   as they are read
 *     rate_limit_flush(&limit, true);                       nothing follows
 *     rate_limit_release(&limit);
 *
 * After `max` bytes a program that floods is recorded in part: its newest lines, each followed by a silence in
 * proportion to its bytes. So the journal grows by at most RATE_LIMIT_RATE from then on. The next event counts what was
 * left out before it. The newest bytes are always recorded, so a prompt or the echo of typed input is always visible. A
 * program that prints no faster than that rate loses nothing. */

#include "base/loop.h"
#include "base/strbuf.h"
#include "emitter.h"
#include <inttypes.h>

#define RATE_LIMIT_EVERY_US 40000
#define RATE_LIMIT_PIECE    (16u << 10) /* this much is recorded at once, without waiting */
#define RATE_LIMIT_NEWEST   (4u << 10)  /* bytes of an event after `max` */
#define RATE_LIMIT_RATE     (4u << 10)  /* bytes a second after `max` */
#define RATE_LIMIT_LEFT_OUT "\n[%" PRIu64 " bytes that were printed here are not recorded]\n"

struct rate_limit {
    struct loop *loop;
    size_t max; /* bytes that are recorded as they arrive */
    struct emitter *emitter;
    struct event event; /* all fields except its text */
    /* owned by this struct */
    struct loop_timer timer;
    struct strbuf held;
    size_t recorded;
    uint64_t left_out; /* bytes since the last event */
    int64_t silent_us; /* nothing is recorded until then */
};

/* `event`: a program.output or a tool.output. Its texts must outlive this. */
void rate_limit_init(struct rate_limit *limit, struct loop *loop, size_t max, struct emitter *emitter,
                     const struct event *event);
void rate_limit_add(struct rate_limit *limit, const char *bytes, size_t len);
/* Records what is pending. `end`: also an incomplete character, because nothing follows. */
void rate_limit_flush(struct rate_limit *limit, bool end);
/* Records nothing more. Safe on a zeroed struct and on a second call. */
void rate_limit_release(struct rate_limit *limit);
