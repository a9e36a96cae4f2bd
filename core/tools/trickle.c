#include "trickle.h"
#include "base/mem.h"
#include "base/utf8.h"
#include <string.h>

void trickle_init(struct trickle *trickle, struct loop *loop, size_t max,
                  void (*tell)(void *user, const char *text, size_t len), void *user)
{
    *trickle = (struct trickle){.loop = loop, .max = max, .tell = tell, .user = user};
    strbuf_init(&trickle->held);
}

/* A text is a C string everywhere else. */
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

static bool is_flood(const struct trickle *trickle)
{
    return trickle->told >= trickle->max;
}

static void drop(struct strbuf *held, size_t len)
{
    memmove(held->buf, held->buf + len, held->len - len);
    strbuf_set_len(held, held->len - len);
}

/* Keeps the newest of what is held: whole lines, or where there is not even one the end of it. */
static void keep_newest(struct trickle *trickle)
{
    struct strbuf *held = &trickle->held;
    if (held->len <= TRICKLE_NEWEST)
        return;
    size_t old = held->len - TRICKLE_NEWEST;
    const char *newline = memchr(held->buf + old - 1, '\n', held->len - old);
    if (newline)
        old = (size_t)(newline - held->buf) + 1;
    while (old < held->len && ((unsigned char)held->buf[old] & 0xC0) == 0x80)
        old++;
    trickle->left_out += old;
    drop(held, old);
}

static void pay(struct trickle *trickle, size_t len)
{
    int64_t now = loop_now_us(trickle->loop);
    trickle->silent_us = (trickle->silent_us > now ? trickle->silent_us : now) + (int64_t)len * 1000000 / TRICKLE_RATE;
}

void trickle_flush(struct trickle *trickle, bool end)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct strbuf *held = &trickle->held;
    loop_timer_stop(trickle->loop, &trickle->timer);
    if (is_flood(trickle))
        keep_newest(trickle);
    size_t len = end ? held->len : held->len - utf8_unfinished(held->buf, held->len);
    if (!len)
        return;
    if (trickle->left_out)
        strbuf_addf(&text, TRICKLE_LEFT_OUT, trickle->left_out);
    scrub(&text, held->buf, len);
    drop(held, len);
    if (is_flood(trickle))
        pay(trickle, text.len);
    trickle->left_out = 0;
    trickle->told += text.len;
    trickle->tell(trickle->user, text.buf, text.len);
}

static void on_time(struct loop_timer *timer)
{
    trickle_flush(CONTAINER_OF(timer, struct trickle, timer), false);
}

void trickle_add(struct trickle *trickle, const char *bytes, size_t len)
{
    int64_t soon = loop_now_us(trickle->loop) + TRICKLE_EVERY_US;
    strbuf_add(&trickle->held, bytes, len);
    if (trickle->held.len >= TRICKLE_PIECE && !is_flood(trickle))
        trickle_flush(trickle, false);
    else if (trickle->held.len >= TRICKLE_PIECE)
        keep_newest(trickle);
    if (trickle->held.len && !loop_timer_armed(&trickle->timer))
        loop_timer_start(trickle->loop, &trickle->timer, soon > trickle->silent_us ? soon : trickle->silent_us,
                         on_time);
}

void trickle_release(struct trickle *trickle)
{
    if (!trickle->loop)
        return;
    loop_timer_stop(trickle->loop, &trickle->timer);
    strbuf_release(&trickle->held);
    trickle->loop = NULL;
}
