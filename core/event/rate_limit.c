/* Records a program's output as events: collects it for a moment, and of a flood keeps the newest (rate_limit.h). */

#include "rate_limit.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <string.h>

void rate_limit_init(struct rate_limit *limit, struct loop *loop, size_t max, struct emitter *emitter,
                     const struct event *event)
{
    *limit = (struct rate_limit){.loop = loop, .max = max, .emitter = emitter, .event = *event};
    strbuf_init(&limit->held);
}

/* Also replaces NUL, because all texts are C strings. */
static void scrub(struct strbuf *out, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *zero = memchr(bytes + at, '\0', len - at);
        size_t end = zero ? (size_t)(zero - bytes) : len;
        utf8_scrub(out, bytes + at, end - at);
        if (zero)
            strbuf_addstr(out, "\xEF\xBF\xBD");
        at = end + (zero != NULL);
    }
}

static bool is_flood(const struct rate_limit *limit)
{
    return limit->recorded >= limit->max;
}

static void drop(struct strbuf *held, size_t len)
{
    memmove(held->buf, held->buf + len, held->len - len);
    strbuf_set_len(held, held->len - len);
}

/* Keeps the newest pending bytes: whole lines, or the end of a single long line. */
static void keep_newest(struct rate_limit *limit)
{
    struct strbuf *held = &limit->held;
    if (held->len <= RATE_LIMIT_NEWEST)
        return;
    size_t old = held->len - RATE_LIMIT_NEWEST;
    const char *newline = memchr(held->buf + old - 1, '\n', held->len - old);
    if (newline)
        old = (size_t)(newline - held->buf) + 1;
    while (old < held->len && ((unsigned char)held->buf[old] & 0xC0) == 0x80)
        old++;
    limit->left_out += old;
    drop(held, old);
}

static void pay(struct rate_limit *limit, size_t len)
{
    int64_t now = loop_now_us(limit->loop);
    limit->silent_us = (limit->silent_us > now ? limit->silent_us : now) + (int64_t)len * 1000000 / RATE_LIMIT_RATE;
}

void rate_limit_flush(struct rate_limit *limit, bool end)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct strbuf *held = &limit->held;
    loop_timer_stop(limit->loop, &limit->timer);
    if (is_flood(limit))
        keep_newest(limit);
    size_t len = end ? held->len : held->len - utf8_unfinished(held->buf, held->len);
    if (!len && !limit->left_out)
        return;
    if (limit->left_out)
        strbuf_addf(&text, RATE_LIMIT_LEFT_OUT, limit->left_out);
    scrub(&text, held->buf, len);
    drop(held, len);
    if (is_flood(limit))
        pay(limit, text.len);
    limit->left_out = 0;
    limit->recorded += text.len;
    struct event event = limit->event;
    *(event.type == EVENT_TOOL_OUTPUT ? &event.tool_output.text : &event.program_output.text) = text.buf;
    emit(limit->emitter, &event);
}

static void on_time(struct loop_timer *timer)
{
    rate_limit_flush(CONTAINER_OF(timer, struct rate_limit, timer), false);
}

void rate_limit_add(struct rate_limit *limit, const char *bytes, size_t len)
{
    int64_t soon = loop_now_us(limit->loop) + RATE_LIMIT_EVERY_US;
    strbuf_add(&limit->held, bytes, len);
    if (limit->held.len >= RATE_LIMIT_PIECE && !is_flood(limit))
        rate_limit_flush(limit, false);
    else if (limit->held.len >= RATE_LIMIT_PIECE)
        keep_newest(limit);
    if ((limit->held.len || limit->left_out) && !loop_timer_armed(&limit->timer))
        loop_timer_start(limit->loop, &limit->timer, soon > limit->silent_us ? soon : limit->silent_us, on_time);
}

void rate_limit_release(struct rate_limit *limit)
{
    if (!limit->loop)
        return;
    loop_timer_stop(limit->loop, &limit->timer);
    strbuf_release(&limit->held);
    limit->loop = NULL;
}
