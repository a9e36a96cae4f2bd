#pragma once
/* Shortens a conversation that comes near the context ceiling.
 *
 * No model takes part: fixed rules choose what to leave out, so that a recording repeats. They apply in this order:
 *
 * 1. Old tool results are cut to their first lines, the oldest first.
 * 2. Earlier turns become a digest: one line for the prompt and one for the result.
 * 3. Long texts in the arguments of old calls are cut.
 * 4. The newest results, which the model has not seen yet, are cut, only as far as necessary.
 *
 * Every call keeps its one message. The user's prompt of this turn and the messages that prepare it stay whole.
 *
 * Tokens are estimated from bytes, four to a token, which is near enough for text and code. */

#include "base/strbuf.h"
#include "model/message.h"

struct compaction {
    int64_t before, after; /* tokens, estimated */
    size_t results;        /* shortened tool results */
    size_t turns;          /* earlier turns in the digest */
    size_t calls;          /* calls with shortened arguments */
};

/* Estimated tokens of the messages from `first` on. */
int64_t compaction_tokens(const struct message_list *messages, size_t first);
/* Shortens until at most `target` tokens are left or nothing more can go; unseen results only until at most `must`
 * are left. Returns what was done. */
struct compaction compaction_run(struct message_list *messages, int64_t target, int64_t must);
/* "7 tool results shortened, 2 earlier turns summarized"; "" if nothing was. */
void compaction_how(struct strbuf *out, const struct compaction *done);
