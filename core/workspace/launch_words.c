/* See launch_words.h. A terminal makes CR LF of the ends of lines. */

#include "launch_words.h"
#include "base/launcher.h"
#include "base/mem.h"
#include <string.h>

#define SAID_MAX 65536u
#define HELD_MAX 16384u /* more than the last words ever are */

/* Without the end of the line. */
static const char mark[] = LAUNCH_WORD "begins";
static const char ended[] = LAUNCH_WORD "ended";

void launch_words_init(struct launch_words *words)
{
    strbuf_init(&words->said);
    strbuf_init(&words->held);
}

void launch_words_release(struct launch_words *words)
{
    strbuf_release(&words->said);
    strbuf_release(&words->held);
}

static void drop_front(struct strbuf *buf, size_t len)
{
    memmove(buf->buf, buf->buf + len, buf->len - len);
    strbuf_set_len(buf, buf->len - len);
}

static void give(struct launch_words *words, size_t len)
{
    if (len)
        words->output(words->user, words->held.buf, len);
    drop_front(&words->held, len);
}

/* Where the last words may begin: at the last that looks like them, or at the beginning of one. */
static size_t last_begins(const struct strbuf *held)
{
    size_t len = strlen(ended);
    for (size_t at = held->len; at-- > 0;) {
        size_t rest = held->len - at;
        if (memcmp(held->buf + at, ended, rest < len ? rest : len) == 0)
            return rest > HELD_MAX ? held->len : at;
    }
    return held->len;
}

static void feed_output(struct launch_words *words, const char *bytes, size_t len)
{
    if (!words->last) {
        if (len)
            words->output(words->user, bytes, len);
        return;
    }
    strbuf_add(&words->held, bytes, len);
    give(words, last_begins(&words->held));
}

void launch_words_feed(struct launch_words *words, const char *bytes, size_t len)
{
    if (words->marked) {
        feed_output(words, bytes, len);
        return;
    }
    struct strbuf *said = &words->said;
    strbuf_add(said, bytes, len);
    const char *at = memmem(said->buf, said->len, mark, strlen(mark));
    const char *end = at ? memchr(at, '\n', said->len - (size_t)(at - said->buf)) : NULL;
    if (!end) {
        if (said->len > SAID_MAX)
            drop_front(said, said->len - SAID_MAX / 2);
        return;
    }
    words->marked = true;
    feed_output(words, end + 1, said->len - (size_t)(end + 1 - said->buf));
    strbuf_set_len(said, (size_t)(at - said->buf));
}

void launch_words_give_up(struct launch_words *words)
{
    words->marked = true;
    if (words->said.len)
        words->output(words->user, words->said.buf, words->said.len);
    strbuf_reset(&words->said);
}

static bool are_words(const struct strbuf *held)
{
    const char *end = held->buf + held->len;
    if (held->len < strlen(ended) || end[-1] != '\n')
        return false;
    for (const char *at = held->buf; at < end; at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1)
        if (strncmp(at, LAUNCH_WORD, strlen(LAUNCH_WORD)) != 0)
            return false;
    return true;
}

void launch_words_end(struct launch_words *words, void (*hear)(void *user, const char *line))
{
    struct strbuf *held = &words->held;
    if (!are_words(held)) {
        give(words, held->len);
        return;
    }
    for (const char *at = held->buf; *at; at = strchr(at, '\n') + 1) {
        const char *text = at + strlen(LAUNCH_WORD);
        CLEANUP(free) char *line = xmemdup0(text, strcspn(text, "\r\n"));
        hear(words->user, line);
    }
    strbuf_reset(held);
}
