/* One thing is under way at a time: the model is asked, or it is waited before it is asked again, or the orchestration
 * runs what it wrote. The conversation grows by an answer and what came of it; both are bounded, and so is their
 * number. */

#include "author.h"
#include "author_words.h"
#include "base/arena.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/retry.h"
#include "workspace/codeblock.h"
#include <string.h>

struct author {
    struct author_options options;
    struct author_listener listener;
    struct orchestration *run;
    struct model_listener model;
    struct message_list messages;
    struct loop_timer again;
    int asked;   /* how often for this answer */
    int answers; /* so far */
};

static void ask(struct author *author)
{
    struct provider *provider = author->options.provider;
    author->asked++;
    provider->ops->ask(provider,
                       &(struct model_request){.step = author->answers + 1,
                                               .messages = &author->messages,
                                               .timeout_ms = AUTHOR_PATIENCE_S * 1000},
                       &author->model);
}

static void ask_again(struct loop_timer *timer)
{
    ask(CONTAINER_OF(timer, struct author, again));
}

/* Where the provider counts nothing, both are 0. */
static struct authoring authoring_of(const struct model_reply *reply)
{
    bool counted = reply->usage.input || reply->usage.output;
    return (struct authoring){.tokens_in = counted ? reply->usage.input : -1,
                              .tokens_out = counted ? reply->usage.output : -1,
                              .latency_ms = reply->latency_ms};
}

/* Every answer of PLAN counts as an attempt, also one without a script. */
static bool has_attempts_left(const struct author *author)
{
    size_t attempts = author->options.run.attempts;
    return (size_t)author->answers < (attempts ? attempts : ORCHESTRATOR_ATTEMPTS);
}

static void tell_and_ask(struct author *author, const char *text)
{
    message_list_add(&author->messages, ROLE_USER, text);
    author->asked = 0;
    ask(author);
    author->listener.asks(author->listener.user);
}

static void answered(struct author *author, struct model_reply *reply)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *text = reply->text ? reply->text : "";
    struct message *message = message_list_add(&author->messages, ROLE_ASSISTANT, text);
    struct authored authored = {.script = author_find_script(&arena, author->options.run.mode, text),
                                .authoring = authoring_of(reply)};
    message->opaque = steal(&reply->opaque);
    if (!authored.script)
        authored.word = *text ? text : NULL;
    author->answers++;
    if (!authored.script && author->options.run.mode == SCRIPT_PLAN && strstr(text, CODE_FENCE) &&
        has_attempts_left(author))
        tell_and_ask(author, author_words_astray);
    else
        orchestrator_script(author->run, &authored);
}

static void give_up(struct author *author, const struct model_reply *reply, bool too_late)
{
    CLEANUP(strbuf) struct strbuf why = STRBUF_INIT;
    strbuf_addf(&why, "the model could not be asked: %s", reply->error);
    if (too_late)
        strbuf_addf(&why, " (it wants to be asked again in %lld s: try it then)",
                    (long long)(reply->retry_after_ms + 999) / 1000);
    orchestrator_script(author->run, &(struct authored){.word = why.buf, .unable = true});
}

static void failed(struct author *author, const struct model_reply *reply)
{
    struct loop *loop = author->options.run.loop;
    bool worth = reply->retryable && author->asked < author->options.model_attempts;
    bool too_late = worth && reply->retry_after_ms > AUTHOR_PATIENCE_S * 1000;
    if (!worth || too_late) {
        give_up(author, reply, too_late);
        return;
    }
    int64_t wait_ms = retry_delay_ms(reply, author->asked, author->options.model_jitter);
    loop_timer_start(loop, &author->again, loop_now_us(loop) + wait_ms * 1000, ask_again);
    author->listener.waits(author->listener.user, reply->error, wait_ms);
}

static void on_reply(struct model_listener *listener, struct model_reply *take_reply)
{
    struct author *author = CONTAINER_OF(listener, struct author, model);
    if (take_reply->error)
        failed(author, take_reply);
    else
        answered(author, take_reply);
    model_reply_release(take_reply);
}

/* ---- the orchestration ---- */

static void on_next(void *user, struct orchestration *run, const struct run_record *record)
{
    struct author *author = user;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (author->options.run.mode == SCRIPT_PLAN && !has_attempts_left(author)) {
        orchestrator_script(run, &(struct authored){0});
        return;
    }
    if (record->count)
        author_tell_attempt(&text, author->options.run.mode, &record->attempts[record->count - 1].result);
    else
        strbuf_addstr(&text, author->options.wish);
    tell_and_ask(author, text.buf);
}

static void on_begins(void *user, const struct run_record *record)
{
    struct author *author = user;
    author->listener.begins(author->listener.user, record);
}

static void on_done(void *user, struct run_record *take_record)
{
    struct author *author = user;
    author->listener.done(author->listener.user, take_record);
    message_list_release(&author->messages);
    free(author);
}

/* ---- the doors ---- */

struct author *author_start(const struct author_options *options, const struct author_listener *listener)
{
    CLEANUP(strbuf) struct strbuf rules = STRBUF_INIT;
    struct author *author = xcalloc(1, sizeof(*author));
    author->options = *options;
    author->listener = *listener;
    author->model.done = on_reply;
    message_list_init(&author->messages);
    author_rules(&rules, options->run.mode, options->tools, options->run.secrets);
    message_list_add(&author->messages, ROLE_SYSTEM, rules.buf);
    author->run = orchestrator_start(
        &options->run,
        &(struct orchestrator_author){.next = on_next, .begins = on_begins, .done = on_done, .user = author});
    return author;
}

void author_cancel(struct author *author)
{
    struct provider *provider = author->options.provider;
    loop_timer_stop(author->options.run.loop, &author->again);
    provider->ops->cancel(provider);
    orchestrator_cancel(author->run);
}
