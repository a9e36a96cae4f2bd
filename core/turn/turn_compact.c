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

void turn_compact(struct turn *turn)
{
    double ceiling = budget_limit(&turn->budget, BUDGET_CONTEXT_TOKENS);
    int64_t estimated = compaction_tokens(&turn->messages, 0), tokens = next_tokens(turn, estimated);
    CLEANUP(strbuf) struct strbuf how = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf messages = STRBUF_INIT;

    /* Written so that no ceiling is never near. */
    if (!turn->harness->compact || !((double)tokens >= NEAR_SHARE * ceiling))
        return;
    double scale = estimated > 0 ? (double)tokens / (double)estimated : 1;
    struct compaction done = compaction_run(&turn->messages, (int64_t)(TARGET_SHARE * ceiling / scale));
    compaction_how(&how, &done);
    if (!how.len)
        return; /* nothing can be left out: the model is asked, and says if it is too much */
    message_list_write(&messages, &turn->messages);
    turn_emit(turn, &(struct event){.type = EVENT_CONTEXT_COMPACTED,
                                    .context_compacted = {.step = turn->step + 1,
                                                          .before = tokens,
                                                          .after = (int64_t)((double)done.after * scale),
                                                          .how = how.buf,
                                                          .messages = messages.buf}});
    turn->state.context_was_compacted = true;
    turn->state.context_seen = 0;
    forget_reads(&turn->state);
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
