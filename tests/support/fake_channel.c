/* A channel to a fake harness that sends what a test prepared. */

#include "fake_channel.h"
#include "base/err.h"
#include "base/mem.h"

static struct fake_channel *fake_of(struct channel *channel)
{
    return CONTAINER_OF(channel, struct fake_channel, base);
}

static void speak(struct loop_timer *timer);

static void set_timer(struct fake_channel *fake)
{
    if (fake->closed || (fake->paused && !fake->ignores_pause) || fake->next == fake->count)
        loop_timer_stop(fake->loop, &fake->timer);
    else
        loop_timer_start(fake->loop, &fake->timer, fake->sayings[fake->next].at_us, speak);
}

static void speak(struct loop_timer *timer)
{
    struct fake_channel *fake = CONTAINER_OF(timer, struct fake_channel, timer);
    const struct fake_saying *saying = &fake->sayings[fake->next++];
    if (saying->bytes && fake->base.received)
        fake->base.received(&fake->base, saying->bytes, saying->len);
    else if (!saying->bytes && fake->base.ended)
        fake->base.ended(&fake->base);
    set_timer(fake);
}

static void take_request(struct fake_channel *fake, const char *line, size_t len)
{
    arena_reset(&fake->arena);
    struct err err = ERR_INIT;
    const char *copy = arena_memdup0(&fake->arena, line, len);
    const struct json *request = json_parse(&fake->arena, copy, len, &err);
    if (!request)
        BUG("the request is no JSON: %s", err.text);
    fake->requests++;
    free(fake->id);
    fake->id = xstrdup(json_str(json_get(request, "execution_id"), ""));
    if (fake->asked)
        fake->asked(fake, request);
}

static int write_channel(struct channel *channel, const char *bytes, size_t len)
{
    struct fake_channel *fake = fake_of(channel);
    if (fake->stdin_closed)
        return -1;
    strbuf_add(&fake->written, bytes, len);
    take_request(fake, bytes, len);
    return 0;
}

static void pause_channel(struct channel *channel, bool paused)
{
    struct fake_channel *fake = fake_of(channel);
    fake->paused = paused;
    fake->pauses += paused;
    set_timer(fake);
}

static void close_channel(struct channel *channel)
{
    struct fake_channel *fake = fake_of(channel);
    fake->closed = true;
    set_timer(fake);
}

static const struct channel_ops ops = {.write = write_channel, .pause = pause_channel, .close = close_channel};

void fake_channel_init(struct fake_channel *fake, struct loop *loop)
{
    *fake = (struct fake_channel){.base.ops = &ops, .loop = loop, .made_us = loop_now_us(loop)};
    strbuf_init(&fake->written);
}

void fake_channel_release(struct fake_channel *fake)
{
    loop_timer_stop(fake->loop, &fake->timer);
    for (size_t i = 0; i < fake->count; i++)
        free(fake->sayings[i].bytes);
    free(fake->sayings);
    free(fake->id);
    strbuf_release(&fake->written);
    arena_release(&fake->arena);
}

static void add_saying(struct fake_channel *fake, int64_t at_us, char *take_bytes, size_t len)
{
    GROW(fake->sayings, fake->count, fake->room);
    fake->sayings[fake->count++] = (struct fake_saying){at_us, take_bytes, len};
    set_timer(fake);
}

void fake_channel_say_bytes(struct fake_channel *fake, int64_t at_ms, const char *bytes, size_t len)
{
    add_saying(fake, fake->made_us + at_ms * 1000, xmemdup0(bytes, len), len);
}

void fake_channel_say(struct fake_channel *fake, int64_t at_ms, const char *text)
{
    fake_channel_say_bytes(fake, at_ms, text, strlen(text));
}

void fake_channel_end(struct fake_channel *fake, int64_t at_ms)
{
    add_saying(fake, fake->made_us + at_ms * 1000, NULL, 0);
}

void fake_channel_event(struct fake_channel *fake, int64_t after_ms, const char *members)
{
    struct strbuf line = STRBUF_INIT;
    strbuf_addstr(&line, "{\"execution_id\":");
    json_write_str(&line, fake->id, strlen(fake->id), JSON_COMPACT);
    strbuf_addf(&line, ",%s}\n", members);
    size_t len = line.len;
    add_saying(fake, loop_now_us(fake->loop) + after_ms * 1000, strbuf_detach(&line, NULL), len);
}
