/* When the messages of a turn come near the context ceiling they are made smaller before the model is asked again: see
 * compaction.h for what goes. The event holds the messages as they are then, so that a recording goes on from them. */

#include "base/json.h"
#include "base/mem.h"
#include "compaction.h"
#include "turn.h"
#include <string.h>

#define NEAR_SHARE   0.85 /* of the ceiling: there it is done */
#define TARGET_SHARE 0.5  /* and this much is left, so that it need not be done again at every step */

/* How many tokens the next request has. What the model counted in the newest one is better than an estimate; what came
 * since is added to it. */
static int64_t next_tokens(const struct turn *turn, int64_t estimated)
{
    size_t since = turn->messages.count;

    while (since > 0 && turn->messages.items[since - 1].role != ROLE_ASSISTANT)
        since--;
    int64_t counted = turn->state.context_seen;
    if (counted > 0 && since > 0)
        counted += compaction_tokens(&turn->messages, since - 1);
    return counted > estimated ? counted : estimated;
}

/* What was read is no longer there to be looked at: it may be read again. */
static void forget_reads(struct turn_state *state)
{
    dedupe_release(&state->reads);
    dedupe_init(&state->reads);
}

/* Leaves out until about `target` of the `tokens` are left. False when there was nothing to leave out. */
static bool shorten(struct turn *turn, int64_t estimated, int64_t tokens, double target, struct compacted *done)
{
    struct strbuf how = STRBUF_INIT;
    double scale = estimated > 0 ? (double)tokens / (double)estimated : 1;
    struct compaction run = compaction_run(&turn->messages, (int64_t)(target / scale));

    compaction_how(&how, &run);
    if (!how.len)
        return false;
    *done = (struct compacted){
        .before = tokens, .after = (int64_t)((double)run.after * scale), .how = strbuf_detach(&how, NULL)};
    turn->state.context_was_compacted = true;
    turn->state.context_seen = 0;
    forget_reads(&turn->state);
    return true;
}

void turn_tell_compacted(struct turn *turn, int step, struct compacted *take_done)
{
    CLEANUP(strbuf) struct strbuf messages = STRBUF_INIT;
    CLEANUP(free) char *how = steal(&take_done->how);

    message_list_write(&messages, &turn->messages);
    turn_emit(turn, &(struct event){.type = EVENT_CONTEXT_COMPACTED,
                                    .context_compacted = {.step = step,
                                                          .before = take_done->before,
                                                          .after = take_done->after,
                                                          .how = how,
                                                          .messages = messages.buf}});
}

void turn_compact(struct turn *turn)
{
    double ceiling = budget_limit(&turn->budget, BUDGET_CONTEXT_TOKENS);
    int64_t estimated = compaction_tokens(&turn->messages, 0), tokens = next_tokens(turn, estimated);
    struct compacted done;

    /* Written so that no ceiling is never near. Where nothing can be left out the model is asked, and says if it is too
     * much. */
    if (turn->harness->compact && (double)tokens >= NEAR_SHARE * ceiling &&
        shorten(turn, estimated, tokens, TARGET_SHARE * ceiling, &done))
        turn_tell_compacted(turn, turn->step + 1, &done);
}

/* How much it can read it does not always say, and counts in its own way: half of what was too much will do. */
bool turn_make_smaller(struct turn *turn, struct compacted *done)
{
    int64_t estimated = compaction_tokens(&turn->messages, 0), tokens = next_tokens(turn, estimated);

    return turn->harness->compact && shorten(turn, estimated, tokens, TARGET_SHARE * (double)tokens, done);
}

void turn_recall_compacted(struct turn *turn, const struct event_context_compacted *compacted)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char *text = compacted->messages ? compacted->messages : "[]";
    struct message_list messages;

    message_list_init(&messages);
    message_list_read(&messages, json_parse(&arena, text, strlen(text), NULL));
    if (messages.count == 0)
        return;
    message_list_release(&turn->messages);
    turn->messages = messages;
    turn->state.context_was_compacted = true;
    turn->state.context_seen = 0;
    forget_reads(&turn->state);
}
