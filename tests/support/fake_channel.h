#pragma once
/* A fake harness: it sends what a test prepared, at the time the test sets, on the loop's clock.
 *
 *     struct fake_channel harness;
 *     fake_channel_init(&harness, loop);
 *     fake_channel_say(&harness, 10, "{\"type\":\"final_result\",…}\n");    10 ms after it was made
 *     script_run_start(loop, &harness.base, …);
 *     loop_run(loop);
 *     fake_channel_release(&harness);
 *
 * Or it answers: it calls `asked` for every request, and fake_channel_event sends an event of that execution. */

#include "base/arena.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/strbuf.h"
#include "sandbox/channel.h"

struct fake_saying {
    int64_t at_us; /* on the loop's clock */
    char *bytes;   /* NULL: the end of the stream */
    size_t len;
};

struct fake_channel {
    struct channel base;
    struct loop *loop;

    /* What the fake does. */
    bool stdin_closed;  /* cannot be written to */
    bool ignores_pause; /* sends even while paused, like a channel with bytes in flight */
    void (*asked)(struct fake_channel *fake, const struct json *request);
    void *data; /* the test's own */

    /* What happened. */
    struct strbuf written;
    size_t requests;
    char *id; /* execution_id of the last one */
    bool paused, closed;
    int pauses; /* times it was paused */

    int64_t made_us;
    struct arena arena; /* of the last request */
    struct loop_timer timer;
    struct fake_saying *sayings;
    size_t count, room, next;
};

void fake_channel_init(struct fake_channel *fake, struct loop *loop);
void fake_channel_release(struct fake_channel *fake);
/* Sends the text this long after the fake was made; call in order of time. */
void fake_channel_say(struct fake_channel *fake, int64_t at_ms, const char *text);
void fake_channel_say_bytes(struct fake_channel *fake, int64_t at_ms, const char *bytes, size_t len);
void fake_channel_end(struct fake_channel *fake, int64_t at_ms);
/* Sends an event of the latest execution, {"execution_id":…,MEMBERS}, so many ms from now. */
void fake_channel_event(struct fake_channel *fake, int64_t after_ms, const char *members);
