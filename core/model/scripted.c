/* A recording, played as a model.
 *
 * An answer counts as used when it was delivered: a request that was cancelled is answered the same the next time.
 *
 * Failures are not played, but for one: where a request was too long and was made again with less, so it is here.
 *
 * With a speed, the answer takes its recorded time and arrives in pieces: the recorded deltas where there are any, else
 * the text itself, a few words at a time. One timer does it all. The last thing any callback here does is to call the
 * listener, because a listener may cancel or free us. */

#include "scripted.h"
#include "base/arena.h"
#include "base/loop.h"
#include "base/mem.h"
#include "event/journal.h"
#include "scripted_inside.h"
#include <string.h>

#define TICK_US 40000 /* between two pieces: about a frame */

struct piece {
    char *text, *thinking; /* one of them, or both */
};

struct scripted {
    struct provider base;
    struct loop *loop;
    struct scripted_lines lines;
    double speed;
    int64_t turn;       /* whose answers are played; 0: all of them, in order */
    size_t next_answer; /* index into lines.entries; those before it are used up */
    size_t next_reflection;

    /* The request under way. */
    struct model_listener *listener; /* NULL: idle */
    size_t *cursor;                  /* which of the two moves on when it is delivered */
    size_t after;                    /* … and to where */
    struct model_reply reply;
    struct piece *pieces;
    size_t piece_count, piece_room, piece_next;
    int64_t start_us, length_us;
    struct loop_timer timer;
    struct loop_task task;
};

static struct scripted *self_of(const struct provider *provider)
{
    return (struct scripted *)provider;
}

static void add_piece(struct scripted *self, const char *text, const char *thinking)
{
    if ((!text || !*text) && (!thinking || !*thinking))
        return;
    GROW(self->pieces, self->piece_count, self->piece_room);
    self->pieces[self->piece_count++] = (struct piece){
        .text = text ? xstrdup(text) : NULL,
        .thinking = thinking ? xstrdup(thinking) : NULL,
    };
}

/* The recorded deltas of an answer stand before it, and after the answer before. */
static void add_recorded_pieces(struct scripted *self, const struct entry *answer, struct arena *arena)
{
    size_t end = (size_t)(answer - self->lines.entries), first = end;
    while (first > 0 && self->lines.entries[first - 1].kind != ANSWER)
        first--;
    for (size_t i = first; i < end; i++) {
        const struct entry *entry = &self->lines.entries[i];
        struct event event;
        if (entry->kind != DELTA || entry->turn != answer->turn || entry->step != answer->step)
            continue;
        if (journal_event(self->lines.reader, entry->line, &event, arena, NULL) == 0)
            add_piece(self, event.model_delta.text, event.model_delta.thinking);
    }
}

/* Cuts the text in at most `most` pieces of whole words. */
static void add_words(struct scripted *self, const char *text, bool thinking, size_t most)
{
    size_t len = text ? strlen(text) : 0;
    size_t least = most ? len / most + 1 : len;
    for (size_t at = 0, end; at < len; at = end) {
        end = at + least < len ? at + least : len;
        end += strcspn(text + end, " \n");
        end += strspn(text + end, " \n");
        CLEANUP(free) char *piece = xmemdup0(text + at, end - at);
        add_piece(self, thinking ? NULL : piece, thinking ? piece : NULL);
    }
}

static void make_pieces(struct scripted *self, const struct entry *answer, bool recorded, struct arena *arena)
{
    if (recorded)
        add_recorded_pieces(self, answer, arena);
    if (self->piece_count)
        return;
    size_t ticks = (size_t)(self->length_us / TICK_US);
    size_t text = self->reply.text ? strlen(self->reply.text) : 0;
    size_t thinking = self->reply.thinking ? strlen(self->reply.thinking) : 0;
    if (ticks == 0 || text + thinking == 0)
        return;
    size_t for_thinking = (size_t)((double)ticks * (double)thinking / (double)(text + thinking));
    add_words(self, self->reply.thinking, true, for_thinking);
    add_words(self, self->reply.text, false, ticks - for_thinking);
}

static void clear_request(struct scripted *self)
{
    loop_timer_stop(self->loop, &self->timer);
    loop_unpost(self->loop, &self->task);
    model_reply_release(&self->reply);
    for (size_t i = 0; i < self->piece_count; i++) {
        free(self->pieces[i].text);
        free(self->pieces[i].thinking);
    }
    self->piece_count = self->piece_next = 0;
    self->listener = NULL;
    self->cursor = NULL;
}

static void deliver(struct scripted *self)
{
    struct model_listener *listener = self->listener;
    struct model_reply reply = self->reply;
    self->reply = (struct model_reply){0};
    if (self->cursor)
        *self->cursor = self->after;
    clear_request(self);
    listener->done(listener, &reply);
}

static void on_task(struct loop_task *task)
{
    deliver(CONTAINER_OF(task, struct scripted, task));
}

static void on_timer(struct loop_timer *timer);

/* Pieces are spread evenly; the answer itself comes at the end of its time, after the last piece. */
static void arm(struct scripted *self)
{
    double share =
        self->piece_next < self->piece_count ? (double)(self->piece_next + 1) / (double)(self->piece_count + 1) : 1.0;
    int64_t due = self->start_us + (int64_t)((double)self->length_us * share);
    loop_timer_start(self->loop, &self->timer, due, on_timer);
}

static void on_timer(struct loop_timer *timer)
{
    struct scripted *self = CONTAINER_OF(timer, struct scripted, timer);
    if (self->piece_next >= self->piece_count) {
        deliver(self);
        return;
    }
    /* The piece is moved out first: the listener may cancel, and then it is gone from the list. */
    struct piece piece = self->pieces[self->piece_next];
    self->pieces[self->piece_next++] = (struct piece){NULL, NULL};
    struct model_listener *listener = self->listener;
    arm(self);
    listener->delta(listener, piece.text, piece.thinking);
    free(piece.text);
    free(piece.thinking);
}

/* A request that was too much for the model then is too much now, or what was left out after it would not be. */
static bool prepare_too_long(struct scripted *self, const struct entry *answer, struct arena *arena)
{
    const struct entry *entry = scripted_lines_next(&self->lines, self->turn, self->next_answer, TOO_LONG);
    struct event event;
    if (!entry || entry > answer || journal_event(self->lines.reader, entry->line, &event, arena, NULL))
        return false;
    self->cursor = &self->next_answer;
    self->after = (size_t)(entry - self->lines.entries) + 1;
    scripted_fail(&self->reply, xstrdup(event.model_failed.error ? event.model_failed.error : "too long"));
    self->reply.too_long = true;
    return true;
}

/* There is no answer: the recorded turn was ended before there could be one, or the recording is over. */
static void prepare_end(struct scripted *self, int64_t step)
{
    const struct entry *end = self->turn ? scripted_lines_next(&self->lines, self->turn, 0, END) : NULL;
    if (end)
        self->reply = (struct model_reply){.retry_after_ms = -1, .ends = end->ends, .unasked = step > end->step};
    else
        scripted_fail(&self->reply, xstrdup("the recording ends here"));
}

static void prepare_answer(struct scripted *self, const struct model_request *request, struct arena *arena)
{
    const struct entry *entry = scripted_lines_next(&self->lines, self->turn, self->next_answer, ANSWER);
    if (!entry) {
        prepare_end(self, request->step);
        return;
    }
    if (prepare_too_long(self, entry, arena))
        return;
    self->cursor = &self->next_answer;
    self->after = (size_t)(entry - self->lines.entries) + 1;
    bool varied = scripted_read_answer(&self->lines, entry, request->messages, &self->reply, arena);
    if (self->reply.error || !(self->speed > 0) || !self->reply.latency_ms)
        return;
    double length = (double)self->reply.latency_ms * 1000 / self->speed;
    self->length_us = length < 1e15 ? (int64_t)length : (int64_t)1e15;
    if (self->listener->delta)
        make_pieces(self, entry, !varied, arena);
}

static void prepare_reflection(struct scripted *self, struct arena *arena)
{
    const struct entry *entry = scripted_lines_next(&self->lines, self->turn, self->next_reflection, REFLECTION);
    if (!entry || !scripted_read_reflection(&self->lines, entry, &self->reply, arena)) {
        scripted_fail(&self->reply, xstrdup("the recording has no reflection here"));
        return;
    }
    self->cursor = &self->next_reflection;
    self->after = (size_t)(entry - self->lines.entries) + 1;
}

static void scripted_ask(struct provider *provider, const struct model_request *request,
                         struct model_listener *listener)
{
    struct scripted *self = self_of(provider);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (self->listener)
        BUG("one request at a time");
    self->listener = listener;
    self->length_us = 0;
    self->start_us = loop_now_us(self->loop);
    if (request->reflection)
        prepare_reflection(self, &arena);
    else
        prepare_answer(self, request, &arena);
    if (self->length_us > 0)
        arm(self);
    else
        loop_post(self->loop, &self->task, on_task);
}

static void scripted_cancel(struct provider *provider)
{
    clear_request(self_of(provider));
}

static const char *scripted_model(const struct provider *provider)
{
    return self_of(provider)->lines.model;
}

static void scripted_free(struct provider *provider)
{
    struct scripted *self = self_of(provider);
    clear_request(self);
    free(self->pieces);
    scripted_lines_release(&self->lines);
    free(self);
}

static const struct provider_ops scripted_ops = {
    .name = "scripted",
    .model = scripted_model,
    .ask = scripted_ask,
    .cancel = scripted_cancel,
    .free = scripted_free,
};

struct provider *scripted_new(struct loop *loop, const struct journal_reader *reader, double speed)
{
    struct scripted *self = xcalloc(1, sizeof(*self));
    self->base.ops = &scripted_ops;
    self->loop = loop;
    self->speed = speed;
    scripted_lines_init(&self->lines, reader);
    return &self->base;
}

void scripted_turn(struct provider *provider, int64_t turn)
{
    struct scripted *self = self_of(provider);
    if (provider->ops->ask != scripted_ask)
        return;
    self->turn = turn;
    self->next_answer = self->next_reflection = 0;
}
