/* Shortens a conversation that comes near the context ceiling.
 *
 * compaction_run applies the rules of compaction.h in their order until the messages fit. turn_compact runs it before
 * each request, turn_make_smaller after a model refused a request as too long. Both record context.compacted. */

#include "compaction.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "turn.h"
#include <string.h>

#define BYTES_PER_TOKEN 4
#define MESSAGE_TOKENS  4   /* cost of a message besides its text */
#define RESULT_CHARS    400 /* kept of a result */
#define RESULT_WORTH    800 /* bytes; shortening a shorter result saves nothing */
#define ARGUMENT_CHARS  200 /* kept of a text in the arguments */
#define DIGEST_CHARS    200 /* kept of a prompt or an answer in the digest */

/* ---- measuring ---- */

/* Estimated tokens of a text of `bytes` bytes. */
static int64_t compaction_text_tokens(size_t bytes)
{
    return (int64_t)(bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
}

static int64_t message_tokens(const struct message *message)
{
    size_t bytes = strlen(message->text) + (message->opaque ? strlen(message->opaque) : 0);
    for (size_t i = 0; i < message->call_count; i++)
        bytes += strlen(message->calls[i].name) + strlen(message->calls[i].arguments);
    return compaction_text_tokens(bytes) + MESSAGE_TOKENS;
}

int64_t compaction_tokens(const struct message_list *messages, size_t first)
{
    int64_t sum = 0;
    for (size_t i = first; i < messages->count; i++)
        sum += message_tokens(&messages->items[i]);
    return sum;
}

/* ---- positions ---- */

/* The user's message of this turn: the newest one. */
static size_t prompt_place(const struct message_list *messages)
{
    for (size_t i = messages->count; i-- > 0;)
        if (messages->items[i].role == ROLE_USER)
            return i;
    return 0;
}

/* The newest answer. The model has not seen the messages after it. */
static size_t newest_answer(const struct message_list *messages)
{
    for (size_t i = messages->count; i-- > 0;)
        if (messages->items[i].role == ROLE_ASSISTANT && messages->items[i].call_count)
            return i;
    return messages->count;
}

/* The name of the tool whose result this message is. Results are in the order of their calls, so the search starts
 * behind `last`, the previous hit. */
static const char *tool_of(const struct message_list *messages, size_t place, size_t *last)
{
    const char *id = messages->items[place].call_id;
    for (size_t i = place; id && i-- > 0;) {
        const struct message *message = &messages->items[i];
        for (size_t k = 0; k < message->call_count; k++) {
            size_t at = (*last + 1 + k) % message->call_count;
            if (strcmp(message->calls[at].id, id) != 0)
                continue;
            *last = at;
            return message->calls[at].name;
        }
    }
    return "the tool";
}

static void set_text(struct message *message, struct strbuf *text)
{
    free(message->text);
    message->text = strbuf_detach(text, NULL);
}

/* ---- results ---- */

static bool is_long_result(const struct message *message)
{
    return message->role == ROLE_TOOL && strnlen(message->text, RESULT_WORTH) == RESULT_WORTH;
}

static void shorten_result(struct message_list *messages, size_t place, size_t *last_call)
{
    struct message *message = &messages->items[place];
    size_t len = strlen(message->text);
    struct strbuf text = STRBUF_INIT;
    strbuf_add(&text, message->text, utf8_prefix(message->text, len, RESULT_CHARS));
    strbuf_addf(&text, "\n[%zu more bytes are left out to make room; call %s again if you need them]", len - text.len,
                tool_of(messages, place, last_call));
    set_text(message, &text);
}

static void shorten_results(struct message_list *messages, size_t first, size_t end, int64_t target,
                            struct compaction *done)
{
    size_t last_call = SIZE_MAX; /* none */
    for (size_t i = first; i < end && done->after > target; i++) {
        if (!is_long_result(&messages->items[i]))
            continue;
        int64_t was = message_tokens(&messages->items[i]);
        shorten_result(messages, i, &last_call);
        done->after += message_tokens(&messages->items[i]) - was;
        done->results++;
    }
}

/* ---- earlier turns ---- */

static void add_line(struct strbuf *out, const char *label, const char *text)
{
    size_t len = strlen(text), keep = utf8_prefix(text, len, DIGEST_CHARS);
    strbuf_addstr(out, label);
    for (size_t i = 0; i < keep; i++)
        strbuf_addch(out, text[i] == '\n' || text[i] == '\r' || text[i] == '\t' ? ' ' : text[i]);
    strbuf_addstr(out, keep < len ? "…\n" : "\n");
}

static const char digest_head[] =
    "Earlier turns of this session, shortened to make room (prompt and answer of each):\n";

static bool is_digest(const struct message *message)
{
    return message->role == ROLE_SYSTEM && strncmp(message->text, digest_head, sizeof(digest_head) - 1) == 0;
}

/* Whether a message belongs to earlier turns: everything before this prompt, and an earlier digest. */
static bool of_earlier(const struct message *message)
{
    return message->role != ROLE_SYSTEM || is_digest(message);
}

static void write_digest(struct strbuf *out, const struct message_list *messages, size_t prompt, size_t *turns)
{
    strbuf_addstr(out, digest_head);
    for (size_t i = 0; i < prompt; i++) {
        const struct message *message = &messages->items[i];
        if (is_digest(message)) {
            strbuf_addstr(out, message->text + sizeof(digest_head) - 1);
        } else if (message->role == ROLE_USER) {
            add_line(out, "- asked: ", message->text);
            ++*turns;
        } else if (message->role == ROLE_ASSISTANT && *message->text) {
            add_line(out, "  answered: ", message->text);
        }
    }
}

static void release_message(struct message_list *messages, size_t place)
{
    struct message_list one = {.items = xcalloc(1, sizeof(*one.items)), .count = 1, .room = 1};
    one.items[0] = messages->items[place];
    message_list_release(&one);
}

/* Replaces their messages by the digest, at the position of the first one. */
static void digest_turns(struct message_list *messages, struct compaction *done)
{
    size_t prompt = prompt_place(messages), kept = 0, turns = 0;
    bool placed = false;
    CLEANUP(strbuf) struct strbuf digest = STRBUF_INIT;
    write_digest(&digest, messages, prompt, &turns);
    if (!turns)
        return;
    for (size_t i = 0; i < messages->count; i++) {
        if (i < prompt && of_earlier(&messages->items[i])) {
            release_message(messages, i);
            if (!placed)
                messages->items[kept++] =
                    (struct message){.role = ROLE_SYSTEM, .meaning = "history", .text = xstrdup(digest.buf)};
            placed = true;
        } else {
            messages->items[kept++] = messages->items[i];
        }
    }
    messages->count = kept;
    done->turns += turns;
    done->after = compaction_tokens(messages, 0);
}

/* ---- arguments ---- */

/* Writes the value with its long texts cut. Returns true if there was one. */
static bool write_shorter(struct json_writer *w, const struct json *value)
{
    bool any = false;
    if (value->type == JSON_OBJECT || value->type == JSON_ARRAY) {
        json_open(w, value->key, value->type == JSON_OBJECT ? '{' : '[');
        json_each (item, value)
            any |= write_shorter(w, item);
        json_close(w, value->type == JSON_OBJECT ? '}' : ']');
        return any;
    }
    if (value->type == JSON_STRING && value->len > RESULT_WORTH) {
        size_t keep = utf8_prefix(value->text, value->len, ARGUMENT_CHARS);
        CLEANUP(free)
        char *cut =
            xasprintf("%.*s… [%zu more bytes left out to make room]", (int)keep, value->text, value->len - keep);
        json_add_str(w, value->key, cut);
        return true;
    }
    json_add_value(w, value->key, value);
    return false;
}

static bool shorten_call(struct tool_call *call)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const struct json *value = json_parse(&arena, call->arguments, strlen(call->arguments), NULL);
    struct json_writer w = json_begin(&text);
    if (!value || value->type != JSON_OBJECT || !write_shorter(&w, value))
        return false;
    free(call->arguments);
    call->arguments = strbuf_detach(&text, NULL);
    return true;
}

static void shorten_calls(struct message_list *messages, size_t end, int64_t target, struct compaction *done)
{
    for (size_t i = 0; i < end && done->after > target; i++) {
        struct message *message = &messages->items[i];
        int64_t was = message_tokens(message);
        for (size_t k = 0; k < message->call_count; k++)
            done->calls += shorten_call(&message->calls[k]);
        done->after += message_tokens(message) - was;
    }
}

/* ---- all of it ---- */

struct compaction compaction_run(struct message_list *messages, int64_t target, int64_t must)
{
    struct compaction done = {.before = compaction_tokens(messages, 0)};
    done.after = done.before;
    shorten_results(messages, 0, newest_answer(messages), target, &done);
    if (done.after > target)
        digest_turns(messages, &done);
    size_t newest = newest_answer(messages);
    if (done.after > target && newest < messages->count)
        shorten_calls(messages, newest, target, &done);
    shorten_results(messages, newest, messages->count, must, &done);
    return done;
}

static void add_count(struct strbuf *out, size_t count, const char *one, const char *many, const char *what)
{
    if (count)
        strbuf_addf(out, "%s%zu %s %s", out->len ? ", " : "", count, count == 1 ? one : many, what);
}

void compaction_how(struct strbuf *out, const struct compaction *done)
{
    add_count(out, done->results, "tool result", "tool results", "shortened");
    add_count(out, done->turns, "earlier turn", "earlier turns", "summarized");
    add_count(out, done->calls, "call's arguments", "calls' arguments", "shortened");
}

/* ---- compaction step ---- */

/* Shortens the messages of a turn near the context ceiling before the next request; compaction.h lists the rules. The
 * event holds the shortened messages, so that a resumed recording continues from them. */

#define NEAR_SHARE   0.85 /* of the ceiling: compaction starts here */
#define TARGET_SHARE 0.5  /* of the ceiling: compaction stops here, so that it does not run at every step */
#define MUST_SHARE   0.95 /* of the ceiling: above this, results that the model has not seen are shortened too */

/* The size of the next request in tokens. */
struct weight {
    int64_t tools;     /* the descriptions of the tools, estimated */
    int64_t estimated; /* all of it, with the tools, which are sent each time and cannot be shortened */
    int64_t tokens;    /* all of it, by the better of the two measures */
};

static int64_t tools_tokens(const struct turn *turn)
{
    size_t bytes = 0;
    for (size_t i = 0; i < turn->tool_count; i++) {
        const struct tool_spec *spec = &turn->tools[i]->spec;
        bytes += strlen(spec->name) + (spec->description ? strlen(spec->description) : 0) +
                 (spec->parameters ? strlen(spec->parameters) : 0);
    }
    return compaction_text_tokens(bytes);
}

/* Uses the model's own count of the newest request, plus an estimate of what came since. */
static struct weight weigh(const struct turn *turn)
{
    struct weight weight = {.tools = tools_tokens(turn)};
    size_t since = turn->messages.count;
    while (since > 0 && turn->messages.items[since - 1].role != ROLE_ASSISTANT)
        since--;
    int64_t counted = turn->tally.context_seen;
    if (counted > 0 && since > 0)
        counted += compaction_tokens(&turn->messages, since - 1);
    weight.estimated = compaction_tokens(&turn->messages, 0) + weight.tools;
    weight.tokens = counted > weight.estimated ? counted : weight.estimated;
    return weight;
}

/* The shortened results may be read again. */
static void forget_reads(struct tally *state)
{
    dedupe_release(&state->reads);
    dedupe_init(&state->reads);
}

/* Shortens old messages to about `target` of the tokens, and unseen results to `must`. Returns false if nothing could
 * be left out. */
static bool shorten(struct turn *turn, const struct weight *weight, double target, double must, struct compacted *done)
{
    struct strbuf how = STRBUF_INIT;
    double scale = weight->estimated > 0 ? (double)weight->tokens / (double)weight->estimated : 1;
    struct compaction run = compaction_run(&turn->messages, (int64_t)(target / scale) - weight->tools,
                                           (int64_t)(must / scale) - weight->tools);
    compaction_how(&how, &run);
    if (!how.len)
        return false;
    *done = (struct compacted){.before = weight->tokens,
                               .after = (int64_t)((double)(run.after + weight->tools) * scale),
                               .how = strbuf_detach(&how, NULL)};
    turn->tally.context_was_compacted = true;
    turn->tally.context_seen = 0;
    forget_reads(&turn->tally);
    return true;
}

void turn_tell_compacted(struct turn *turn, int step, struct compacted *take_done)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *how = steal(&take_done->how);
    emit(&turn->emitter,
         &(struct event){.type = EVENT_CONTEXT_COMPACTED,
                         .context_compacted = {.step = step,
                                               .before = take_done->before,
                                               .after = take_done->after,
                                               .how = how,
                                               .messages = message_list_to_event(&arena, &turn->messages)}});
}

void turn_compact(struct turn *turn)
{
    double ceiling = budget_limit(&turn->budget, BUDGET_CONTEXT_TOKENS);
    struct weight weight = weigh(turn);
    struct compacted done;
    /* The comparison is false without a ceiling. If nothing can be left out, the request is sent anyway; the model
     * reports if it is too long. */
    if (turn->config->compact && (double)weight.tokens >= NEAR_SHARE * ceiling &&
        shorten(turn, &weight, TARGET_SHARE * ceiling, MUST_SHARE * ceiling, &done))
        turn_tell_compacted(turn, turn->step + 1, &done);
}

/* The model's limit is not always known, and its count may differ. Half of the refused size is a safe target. */
bool turn_make_smaller(struct turn *turn, struct compacted *done)
{
    struct weight weight = weigh(turn);
    double half = TARGET_SHARE * (double)weight.tokens;
    return turn->config->compact && shorten(turn, &weight, half, half, done);
}

void turn_recall_compacted(struct turn *turn, const struct event_context_compacted *compacted)
{
    struct message_list messages;
    message_list_init(&messages);
    message_list_read(&messages, &compacted->messages);
    if (messages.count == 0)
        return;
    message_list_release(&turn->messages);
    turn->messages = messages;
    turn->tally.context_was_compacted = true;
    turn->tally.context_seen = 0;
    forget_reads(&turn->tally);
}
