#pragma once
/* A fake model that gives the answers of a test, after the delays of the test, on the loop's clock.
 *
 *     struct fake_provider *model = fake_provider_new(loop);
 *     struct fake_answer *a = fake_provider_answer(model);      one more answer, in order
 *     fake_answer_call(a, "c1", "read_file", "{\"path\":\"a\"}");
 *     fake_provider_answer(model)->text = "done";                the turn ends there
 *
 * Reflections have a separate queue; if it is empty, the model answers "go on". When the answers are used up, the model
 * repeats the last one if `repeat_last` is set, and otherwise answers "done". */

#include "base/loop.h"
#include "model/provider.h"

struct fake_answer {
    const char *text;     /* borrowed; NULL: none */
    const char *thinking; /* likewise */
    const char *opaque;   /* likewise */
    const char *error;    /* likewise; not NULL: the request fails with it */
    bool retryable;
    bool too_long;          /* because the request is too long */
    int64_t retry_after_ms; /* -1: not requested */
    struct tool_call *calls;
    size_t call_count;
    struct usage usage;
    double cost_usd;  /* NaN: unknown */
    int64_t takes_us; /* on the loop's clock; negative: never answers */
    const char *stop; /* borrowed; NULL: the default */
    const char *const
        *deltas; /* NULL-terminated pieces sent just before it, or at once if it never comes; may be NULL */
};
/* The name and the arguments are copied. `id` NULL: c1, c2 … within this provider. */
void fake_answer_call(struct fake_answer *answer, const char *id, const char *tool, const char *arguments);

/* One request. */
struct fake_request {
    int step;
    bool reflection;
    struct message_list messages; /* as they were at that moment */
    char **tools;                 /* names offered */
    size_t tool_count;
    int thinking_tokens;
    int64_t timeout_ms;
    int64_t at_us;  /* on the loop's clock */
    bool cancelled; /* was canceled before its answer */
};

struct fake_queue {
    struct fake_answer **items;
    size_t count, room, next;
};

struct fake_provider {
    struct provider base;
    const char *name; /* of the model; NULL: fake-1 */
    struct loop *loop;
    struct fake_queue answers, reflections;
    bool repeat_last;
    struct fake_request *requests;
    size_t request_count, request_room;
    /* Called on the loop when a request comes in, before it is answered; may be NULL. */
    void (*asked)(struct fake_provider *provider, const struct model_request *request, void *data);
    void *asked_data;
    int64_t made_calls; /* for ids */

    struct model_listener *listener; /* of the request under way */
    struct fake_answer *playing;
    int64_t asked_us;
    struct loop_timer timer;
};

/* Freed with provider_free(&fake->base). */
struct fake_provider *fake_provider_new(struct loop *loop);
/* Adds an empty answer without delay and returns it to be filled in. The provider owns it. */
struct fake_answer *fake_provider_answer(struct fake_provider *provider);
struct fake_answer *fake_provider_reflection(struct fake_provider *provider);
/* Requests that were steps (not reflections). */
size_t fake_provider_steps(const struct fake_provider *provider);
