#pragma once
/* A model, live or recorded. One request at a time per provider; everything on the loop thread. */

#include "base/err.h"
#include "message.h"

struct provider;

/* A tool as the model hears of it. */
struct tool_offer {
    const char *name, *description;
    const char *parameters; /* JSON schema, compact */
};

struct model_request {
    int step;        /* from 1 within the turn */
    bool reflection; /* a look back, not a step: the tools are told but may not be called */
    const struct message_list *messages;
    const struct tool_offer *tools; /* offered to the model; good for the call, like the messages */
    size_t tool_count;
    bool parallel;             /* several of them may be called at once */
    int thinking_tokens;       /* 0: off */
    int64_t max_output_tokens; /* 0: the provider's own */
    int64_t timeout_ms;        /* what is left of the turn, which cancels when it is over */
};

/* Why an answer ended, where it matters: the model was interrupted, and goes on when it gets back what it said. */
#define MODEL_PAUSED "pause_turn"

/* What one answer may hold, whoever gives it. The loop takes it up in one callback, which must stay short: about 10 ms
 * for a MiB. Models write a tenth of that at most, and call a dozen tools. */
#define MODEL_CALLS_MAX      512
#define MODEL_TOO_MANY_CALLS "the answer has more than %d tool calls, and none of them runs"
#define MODEL_BYTES_MAX      ((size_t)2 << 20) /* of text, thinking and arguments together, as the record spells them */
#define MODEL_VALUES_MAX     20000             /* JSON values in the arguments of all calls */

struct model_reply {
    char *error; /* NULL when it answered; then nothing else is set */
    bool retryable;
    bool too_long;          /* the request holds more than the model can read: a shorter one may do */
    int64_t retry_after_ms; /* -1: no wish */
    char *text, *thinking;  /* may be NULL */
    struct tool_call *calls;
    size_t call_count;
    char *opaque; /* JSON object that the provider wants back with the answer's message; NULL: nothing */
    char *stop;   /* "end_turn", "tool_use", "max_tokens", "refusal" … */
    struct usage usage;
    double cost_usd; /* NaN: unknown */
    int64_t latency_ms;
    const char *ends; /* a recorded turn was ended here, with this status; NULL: it was not. Not ours to free */
    bool unasked;     /* and before this request was made */
};
void model_reply_release(struct model_reply *reply);

struct model_listener {
    /* Pieces of an answer as they come; either may be NULL. */
    void (*delta)(struct model_listener *listener, const char *text, const char *thinking);
    /* Once, unless cancelled; never from within `ask`. The reply is taken over. */
    void (*done)(struct model_listener *listener, struct model_reply *take_reply);
};

struct provider_ops {
    const char *name;                                      /* "scripted", "anthropic" … */
    const char *(*model)(const struct provider *provider); /* the model's name */
    void (*ask)(struct provider *provider, const struct model_request *request, struct model_listener *listener);
    void (*cancel)(struct provider *provider); /* the listener is not called any more; idle: no-op */
    void (*free)(struct provider *provider);
};

struct provider {
    const struct provider_ops *ops;
};
static inline void provider_free(struct provider *provider)
{
    if (provider)
        provider->ops->free(provider);
}
