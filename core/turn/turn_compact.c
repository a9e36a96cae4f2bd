/* When the messages of a turn come near the context ceiling they are made smaller before the model is asked again: see
 * compaction.h for what goes. The event holds the messages as they are then, so that a recording goes on from them. */

#include "base/json.h"
#include "base/mem.h"
#include "compaction.h"
#include "turn.h"
#include <string.h>

#define NEAR_SHARE   0.85 /* of the ceiling: there it is done */
#define TARGET_SHARE 0.5  /* and this much is left, so that it need not be done again at every step */
#define MUST_SHARE   0.95 /* more than this does not fit: then results go that the model has not even seen */

/* What the next request has, in tokens. */
struct weight {
    int64_t tools;     /* what is told about them, estimated */
    int64_t estimated; /* all of it: they go along each time, and cannot be made smaller */
    int64_t tokens;    /* likewise, by the better of the two ways to know */
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

/* What the model counted in the newest request is better than an estimate; what came since is added to it. */
static struct weight weigh(const struct turn *turn)
{
    struct weight weight = {.tools = tools_tokens(turn)};
    size_t since = turn->messages.count;

    while (since > 0 && turn->messages.items[since - 1].role != ROLE_ASSISTANT)
        since--;
    int64_t counted = turn->state.context_seen;
    if (counted > 0 && since > 0)
        counted += compaction_tokens(&turn->messages, since - 1);
    weight.estimated = compaction_tokens(&turn->messages, 0) + weight.tools;
    weight.tokens = counted > weight.estimated ? counted : weight.estimated;
    return weight;
}

/* What was read is no longer there to be looked at: it may be read again. */
static void forget_reads(struct turn_state *state)
{
    dedupe_release(&state->reads);
    dedupe_init(&state->reads);
}

/* Leaves out until about `target` of its tokens are left, what is new until `must` are. False when there was nothing to
 * leave out. */
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
    turn->state.context_was_compacted = true;
    turn->state.context_seen = 0;
    forget_reads(&turn->state);
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

    /* Written so that no ceiling is never near. Where nothing can be left out the model is asked, and says if it is too
     * much. */
    if (turn->harness->compact && (double)weight.tokens >= NEAR_SHARE * ceiling &&
        shorten(turn, &weight, TARGET_SHARE * ceiling, MUST_SHARE * ceiling, &done))
        turn_tell_compacted(turn, turn->step + 1, &done);
}

/* How much it can read it does not always say, and counts in its own way: half of what was too much will do. */
bool turn_make_smaller(struct turn *turn, struct compacted *done)
{
    struct weight weight = weigh(turn);
    double half = TARGET_SHARE * (double)weight.tokens;

    return turn->harness->compact && shorten(turn, &weight, half, half, done);
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
    turn->state.context_was_compacted = true;
    turn->state.context_seen = 0;
    forget_reads(&turn->state);
}
