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

/* How many bytes at the end are the beginning of a character that may still be completed. */
static size_t unfinished(const char *text, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char byte = (unsigned char)text[len - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return needs > back ? back : 0;
    }
    return 0;
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

void trickle_flush(struct trickle *trickle, bool end)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct strbuf *held = &trickle->held;
    size_t len = end ? held->len : held->len - unfinished(held->buf, held->len);
    loop_timer_stop(trickle->loop, &trickle->timer);
    if (trickle->cut)
        return;
    scrub(&text, held->buf, len);
    memmove(held->buf, held->buf + len, held->len - len);
    strbuf_set_len(held, held->len - len);
    if (trickle->told + text.len > trickle->max) {
        size_t room = trickle->max - trickle->told;
        strbuf_set_len(&text, room - unfinished(text.buf, room));
        strbuf_addstr(&text, TRICKLE_CUT);
        trickle->cut = true;
        strbuf_reset(held);
    }
    trickle->told += text.len;
    if (text.len)
        trickle->tell(trickle->user, text.buf, text.len);
}

static void on_time(struct loop_timer *timer)
{
    trickle_flush(CONTAINER_OF(timer, struct trickle, timer), false);
}

void trickle_add(struct trickle *trickle, const char *bytes, size_t len)
{
    if (trickle->cut)
        return;
    strbuf_add(&trickle->held, bytes, len);
    if (trickle->held.len >= TRICKLE_PIECE)
        trickle_flush(trickle, false);
    else if (!loop_timer_armed(&trickle->timer))
        loop_timer_start(trickle->loop, &trickle->timer, loop_now_us(trickle->loop) + TRICKLE_EVERY_US, on_time);
}

void trickle_release(struct trickle *trickle)
{
    if (!trickle->loop)
        return;
    loop_timer_stop(trickle->loop, &trickle->timer);
    strbuf_release(&trickle->held);
    trickle->loop = NULL;
}
