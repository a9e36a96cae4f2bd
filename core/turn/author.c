/* Lets a model write scripts for a task, and runs the conversation about them.
 *
 * One thing is in progress at a time: a request to the model, the delay before a retry, or the orchestration that runs
 * the script. The conversation grows by an answer and its result; both are bounded, and so is their number. */

#include "author.h"
#include "base/arena.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "model/provider.h"
#include "sandbox/process_output.h"
#include "sandbox/wire.h"
#include "workspace/codeblock.h"
#include <string.h>

/* ---- author words ---- */

#define TOLD_MAX  8000 /* bytes of the output of a step */
#define ERROR_MAX 2000

static const char what_a_script_is[] =
    "You write Python scripts for a request of the user. A script runs in a sandbox: "
    "no network, nothing of the user's machine, "
    "Python's standard library, and an empty folder of its own, which is the "
    "current one (/workspace in most sandboxes). "
    "These functions need no import:\n"
    "- emit_result(data): the result, once; anything that JSON can hold\n"
    "- emit_intermediate(label, data): a part of it, or how far it is\n"
    "- emit_log(message, level=\"info\"): a note\n"
    "print() is shown too.";

static const char plan_rules[] = "Answer with one whole script in one fenced block that begins with ```python, and use "
                                 "no such fence within it. It must "
                                 "call emit_result. If it fails, you get the error and write the corrected script in "
                                 "full: each run starts in an empty folder.";

static const char interactive_rules[] =
    "Work step by step. Answer with the script of the next step in one fenced block that begins with ```python, and "
    "use "
    "no such "
    "fence within it; you then get its output. Files stay from step to step, variables do not. The step that "
    "has the "
    "result calls emit_result, which ends it; if no result is needed, answer without a block when all is done. Two "
    "steps in a row with the same output end it too.";

static const char author_words_astray[] =
    "Your answer has no Python block that calls emit_result, so nothing ran. Write the whole "
    "script in one fenced block that begins with ```python.";

static void author_rules(struct strbuf *out, enum script_mode mode, const struct toolset *tools,
                         const char *const *secrets)
{
    strbuf_addstr(out, what_a_script_is);
    for (size_t i = 0; i < tools->count; i++)
        strbuf_addf(out, "%s%s", i ? ", " : "\nThese tools need no import either: ", tools->items[i].name);
    for (const char *const *name = secrets; name && *name; name++)
        strbuf_addf(out, "%s%s", name == secrets ? "\nos.environ contains: " : ", ", *name);
    strbuf_addf(out, "\n\n%s", mode == SCRIPT_PLAN ? plan_rules : interactive_rules);
}

static void add_error(struct strbuf *out, const struct script_result *result)
{
    strbuf_addstr(out, "It failed: ");
    window_text(out, result->error, strlen(result->error), ERROR_MAX);
    strbuf_addch(out, '\n');
    if (result->traceback && *result->traceback)
        strbuf_addf(out, "The end of its traceback:\n%s\n", script_traceback_end(result->traceback));
}

/* Adds printed text as it is, and log lines with their level. */
static void add_logs(struct strbuf *out, const struct script_result *result)
{
    for (size_t i = 0; i < result->log_count; i++) {
        const struct script_item *log = &result->logs[i];
        bool printed = strcmp(log->label, "stdout") == 0 || strcmp(log->label, "stderr") == 0;
        if (!printed)
            strbuf_addf(out, "[%s] ", log->label);
        strbuf_addf(out, "%s\n", log->data);
    }
}

static void add_step(struct strbuf *out, const struct script_result *result)
{
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    for (size_t i = 0; i < result->intermediate_count; i++)
        strbuf_addf(&said, "%s: %s\n", result->intermediates[i].label, result->intermediates[i].data);
    add_logs(&said, result);
    if (!said.len && !result->error)
        strbuf_addstr(out, "The step ended without output.\n");
    if (said.len) {
        strbuf_addstr(out, "Output of the step:\n");
        window_text(out, said.buf, said.len, TOLD_MAX);
    }
}

static void author_tell_attempt(struct strbuf *out, enum script_mode mode, const struct script_result *result)
{
    if (mode == SCRIPT_INTERACTIVE)
        add_step(out, result);
    if (result->error)
        add_error(out, result);
    strbuf_addstr(out, mode == SCRIPT_PLAN ? "Write the corrected script in full."
                                           : "Write the next step, or say that all is done.");
}

static bool is_python(const struct code_block *block)
{
    struct code_file file;
    return code_block_file(&file, 0, block->language, NULL) == 0 && strcmp(file.program, "python3") == 0;
}

static bool emits(const char *text)
{
    return strstr(text, "emit_") != NULL;
}

static const char *author_find_script(struct arena *arena, enum script_mode mode, const char *answer)
{
    /* Closes a last fence that is open. After closed fences the extra one changes nothing. */
    CLEANUP(free) char *closed = xasprintf("%s\n" CODE_FENCE, answer);
    struct code_block *blocks;
    size_t count = code_blocks_find(arena, closed, strlen(closed), CODE_FENCE, CODE_FENCE, &blocks);
    for (size_t i = 0; i < count; i++)
        if (is_python(&blocks[i]))
            return blocks[i].code;
    for (size_t i = 0; i < count && mode == SCRIPT_PLAN; i++)
        if (!*blocks[i].language && emits(blocks[i].code))
            return blocks[i].code;
    return mode == SCRIPT_PLAN && !strstr(answer, CODE_FENCE) && emits(answer) ? answer : NULL;
}

struct author {
    struct author_options options;
    struct author_listener listener;
    struct orchestration *run;
    struct model_listener model;
    struct message_list messages;
    struct loop_timer again;
    int asked;   /* requests for this answer */
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

/* Both counts are 0 if the provider does not count tokens. */
static struct authoring authoring_of(const struct model_reply *reply)
{
    bool counted = reply->usage.input || reply->usage.output;
    return (struct authoring){.tokens_in = counted ? reply->usage.input : -1,
                              .tokens_out = counted ? reply->usage.output : -1,
                              .latency_ms = reply->latency_ms};
}

/* Every answer to PLAN counts as an attempt, even one without a script. */
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
    strbuf_addf(&why, "the model failed: %s", reply->error);
    if (too_late)
        strbuf_addf(&why, " (retry after %lld s)", (long long)(reply->retry_after_ms + 999) / 1000);
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

static void on_author_reply(void *user, struct run_record *take_record)
{
    struct author *author = user;
    author->listener.done(author->listener.user, take_record);
    message_list_release(&author->messages);
    free(author);
}

/* ---- public functions ---- */

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
        &(struct orchestrator_author){.next = on_next, .begins = on_begins, .done = on_author_reply, .user = author});
    return author;
}

void author_cancel(struct author *author)
{
    struct provider *provider = author->options.provider;
    loop_timer_stop(author->options.run.loop, &author->again);
    provider->ops->cancel(provider);
    orchestrator_cancel(author->run);
}
