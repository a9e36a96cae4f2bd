#pragma once
/* A model, live or recorded: the request it gets, the reply it gives, and what the reply costs.
 *
 * Each provider handles one request at a time. Everything runs on the loop thread. */

#include "base/err.h"
#include "message.h"
#include <math.h>
#include <stdint.h>

struct provider;

/* A tool as offered to the model. */
struct tool_offer {
    const char *name, *description;
    const char *parameters; /* JSON schema, compact */
};

struct model_request {
    int step;        /* from 1 within the turn */
    bool reflection; /* a reflection, not a step: tools are listed but may not be called */
    const struct message_list *messages;
    const struct tool_offer *tools; /* offered to the model; valid during the call, like the messages */
    size_t tool_count;
    bool parallel;             /* the model may call several at once */
    int thinking_tokens;       /* 0: off */
    int64_t max_output_tokens; /* 0: the provider's default */
    int64_t timeout_ms;        /* time left in the turn; the turn cancels when it is over */
};

/* Stop reason of an interrupted answer. The model continues when it gets back what it has written. */
#define MODEL_PAUSED "pause_turn"

/* Limits of one answer from any provider. The loop processes it in one callback, which must stay short: about 10 ms per
 * MB. Models write a tenth of that at most, and call a dozen tools. */
#define MODEL_CALLS_MAX      512
#define MODEL_TOO_MANY_CALLS "the answer has more than %d tool calls; none was run"
#define MODEL_BYTES_MAX      ((size_t)2 << 20) /* of text, thinking and arguments together, as the record writes them */
#define MODEL_VALUES_MAX     20000             /* JSON values in the arguments of all calls */

struct model_reply {
    char *error; /* NULL if it answered; otherwise only the error's fields are set */
    bool retryable;
    bool too_long;          /* the request holds more than the model can read: a shorter one may work */
    int64_t retry_after_ms; /* -1: not requested */
    char *text, *thinking;  /* may be NULL */
    struct tool_call *calls;
    size_t call_count;
    char *opaque; /* JSON object that the provider wants back with the answer's message; NULL: nothing */
    char *stop;   /* "end_turn", "tool_use", "max_tokens", "refusal" … */
    struct usage usage;
    double cost_usd; /* NaN: unknown */
    int64_t latency_ms;
    const char *ends; /* the recorded turn ended here with this status; NULL: it did not. Borrowed */
    bool unasked;     /* … and it ended before this request was made */
};
void model_reply_release(struct model_reply *reply);

struct model_listener {
    /* Called with pieces of an answer; either may be NULL. */
    void (*delta)(struct model_listener *listener, const char *text, const char *thinking);
    /* Called once, unless canceled; never from within `ask`. The listener takes over the reply. */
    void (*done)(struct model_listener *listener, struct model_reply *take_reply);
};

struct provider_ops {
    const char *name;                                      /* "scripted", "anthropic" … */
    const char *(*model)(const struct provider *provider); /* the model's name */
    void (*ask)(struct provider *provider, const struct model_request *request, struct model_listener *listener);
    void (*cancel)(struct provider *provider); /* the listener is not called any more; does nothing if idle */
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

/* ---- cost ----
 *
 * Prices come only from the config file. A built-in table would soon be outdated, and a wrong sum is worse than
 * none. */

/* US dollars per million tokens; NaN: unknown. */
struct prices {
    double input, output;
    double cache_read, cache_write; /* NaN: the price of input */
};
#define PRICES_UNKNOWN ((struct prices){NAN, NAN, NAN, NAN})

/* Returns NaN if the price of the tokens used is unknown. */
double prices_cost(const struct prices *prices, const struct usage *usage);

/* Returns the delay in milliseconds before attempt `attempt` (from 1) is repeated: what the server asked for. Otherwise
 * the delay doubles with each attempt, plus a random share of it of at most `jitter`. */
int64_t retry_delay_ms(const struct model_reply *reply, int attempt, double jitter);
#define RETRY_MAX_MS 315360000000 /* ten years: the longest delay that a server can ask for */
/* Parses the delay in a header's text into milliseconds; -1 if the text is not a duration (a date, for example).
 * `unit_ms`: the unit of a bare number. */
int64_t retry_parse_delay(const char *text, double unit_ms);
