/* The model of the tests. A timer answers each request, even without a delay, because a provider never calls its
 * listener from within `ask`. */

#include "fake_provider.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

static struct fake_provider *self_of(const struct provider *provider)
{
    return (struct fake_provider *)provider;
}

static struct fake_answer *add_answer(struct fake_provider *self, struct fake_queue *queue)
{
    struct fake_answer *answer = xcalloc(1, sizeof(*answer));
    (void)self;
    answer->retry_after_ms = -1;
    answer->cost_usd = NAN;
    GROW(queue->items, queue->count, queue->room);
    queue->items[queue->count++] = answer;
    return answer;
}

static void release_queue(struct fake_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        tool_calls_free(queue->items[i]->calls, queue->items[i]->call_count);
        free(queue->items[i]);
    }
    free(queue->items);
}

struct fake_answer *fake_provider_answer(struct fake_provider *provider)
{
    return add_answer(provider, &provider->answers);
}

struct fake_answer *fake_provider_reflection(struct fake_provider *provider)
{
    return add_answer(provider, &provider->reflections);
}

void fake_answer_call(struct fake_answer *answer, const char *id, const char *tool, const char *arguments)
{
    answer->calls = xreallocarray(answer->calls, answer->call_count + 1, sizeof(*answer->calls));
    struct tool_call *call = &answer->calls[answer->call_count++];
    *call = (struct tool_call){
        .id = id ? xstrdup(id) : NULL, .name = xstrdup(tool), .arguments = xstrdup(arguments ? arguments : "{}")};
}

/* Returns NULL if none is left. */
static struct fake_answer *next_answer(struct fake_provider *self, struct fake_queue *queue)
{
    if (queue->next < queue->count)
        return queue->items[queue->next++];
    return queue->count > 0 && self->repeat_last ? queue->items[queue->count - 1] : NULL;
}

static struct model_reply make_reply(struct fake_provider *self, const struct fake_answer *answer)
{
    struct model_reply reply = {
        .retry_after_ms = answer->retry_after_ms,
        .usage = answer->usage,
        .cost_usd = answer->cost_usd,
        .latency_ms = (loop_now_us(self->loop) - self->asked_us) / 1000,
    };
    if (answer->error) {
        reply.error = xstrdup(answer->error);
        reply.retryable = answer->retryable;
        reply.too_long = answer->too_long;
        return reply;
    }
    reply.text = answer->text ? xstrdup(answer->text) : NULL;
    reply.thinking = answer->thinking ? xstrdup(answer->thinking) : NULL;
    reply.opaque = answer->opaque ? xstrdup(answer->opaque) : NULL;
    reply.stop = xstrdup(answer->stop ? answer->stop : answer->call_count > 0 ? "tool_use" : "end_turn");
    reply.call_count = answer->call_count;
    reply.calls = xcalloc(answer->call_count + 1, sizeof(*reply.calls));
    for (size_t i = 0; i < answer->call_count; i++) {
        const struct tool_call *from = &answer->calls[i];
        reply.calls[i].id = from->id ? xstrdup(from->id) : xasprintf("c%lld", (long long)++self->made_calls);
        reply.calls[i].name = xstrdup(from->name);
        reply.calls[i].arguments = xstrdup(from->arguments);
        reply.calls[i].incomplete = from->incomplete;
    }
    return reply;
}

static void send_deltas(struct fake_provider *self)
{
    const struct fake_answer *answer = self->playing;
    for (size_t i = 0; answer->deltas && answer->deltas[i]; i++)
        if (self->listener->delta)
            self->listener->delta(self->listener, answer->deltas[i], NULL);
}

static void begin_now(struct loop_timer *timer)
{
    send_deltas((struct fake_provider *)((char *)timer - offsetof(struct fake_provider, timer)));
}

static void answer_now(struct loop_timer *timer)
{
    struct fake_provider *self = (struct fake_provider *)((char *)timer - offsetof(struct fake_provider, timer));
    struct model_listener *listener = self->listener;
    const struct fake_answer *answer = self->playing;
    send_deltas(self);
    struct model_reply reply = make_reply(self, answer);
    self->listener = NULL;
    self->playing = NULL;
    listener->done(listener, &reply);
}

static void note_request(struct fake_provider *self, const struct model_request *request)
{
    GROW(self->requests, self->request_count, self->request_room);
    struct fake_request *note = &self->requests[self->request_count++];
    *note = (struct fake_request){
        .step = request->step,
        .reflection = request->reflection,
        .tools = xcalloc(request->tool_count + 1, sizeof(*note->tools)),
        .tool_count = request->tool_count,
        .thinking_tokens = request->thinking_tokens,
        .timeout_ms = request->timeout_ms,
        .at_us = loop_now_us(self->loop),
    };
    for (size_t i = 0; i < request->tool_count; i++)
        note->tools[i] = xstrdup(request->tools[i].name);
    message_list_init(&note->messages);
    message_list_copy(&note->messages, request->messages);
}

static const char *fake_model(const struct provider *provider)
{
    const struct fake_provider *fake = (const struct fake_provider *)provider;
    return fake->name ? fake->name : "fake-1";
}

static void fake_ask(struct provider *provider, const struct model_request *request, struct model_listener *listener)
{
    struct fake_provider *self = self_of(provider);
    struct fake_queue *queue = request->reflection ? &self->reflections : &self->answers;
    if (self->listener)
        BUG("a request while another is open");
    note_request(self, request);
    if (self->asked)
        self->asked(self, request, self->asked_data);
    struct fake_answer *answer = next_answer(self, queue);
    if (!answer) {
        answer = add_answer(self, queue);
        answer->text = request->reflection ? "go on" : "done";
        queue->next = queue->count;
    }
    self->listener = listener;
    self->playing = answer;
    self->asked_us = loop_now_us(self->loop);
    if (answer->takes_us >= 0)
        loop_timer_start(self->loop, &self->timer, self->asked_us + answer->takes_us, answer_now);
    else if (answer->deltas)
        loop_timer_start(self->loop, &self->timer, self->asked_us, begin_now);
}

static void fake_cancel(struct provider *provider)
{
    struct fake_provider *self = self_of(provider);
    if (self->listener)
        self->requests[self->request_count - 1].cancelled = true;
    loop_timer_stop(self->loop, &self->timer);
    self->listener = NULL;
    self->playing = NULL;
}

static void fake_free(struct provider *provider)
{
    struct fake_provider *self = self_of(provider);
    fake_cancel(provider);
    for (size_t i = 0; i < self->request_count; i++) {
        for (size_t j = 0; j < self->requests[i].tool_count; j++)
            free(self->requests[i].tools[j]);
        free(self->requests[i].tools);
        message_list_release(&self->requests[i].messages);
    }
    free(self->requests);
    release_queue(&self->answers);
    release_queue(&self->reflections);
    free(self);
}

struct fake_provider *fake_provider_new(struct loop *loop)
{
    static const struct provider_ops ops = {
        .name = "fake",
        .model = fake_model,
        .ask = fake_ask,
        .cancel = fake_cancel,
        .free = fake_free,
    };
    struct fake_provider *self = xcalloc(1, sizeof(*self));
    self->base.ops = &ops;
    self->loop = loop;
    return self;
}

size_t fake_provider_steps(const struct fake_provider *provider)
{
    size_t count = 0;
    for (size_t i = 0; i < provider->request_count; i++)
        count += !provider->requests[i].reflection;
    return count;
}
