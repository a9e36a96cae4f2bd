#pragma once
/* Making a conversation smaller when it comes near the context ceiling.
 *
 * No model is asked for it: what is left out is found by rule, the same every time, so that a recording repeats. First
 * old tool results are shortened to their first lines, the oldest first; then the turns before this one become a
 * digest, a line for what was asked and one for what came of it; then the arguments of old calls lose their long texts;
 * and only then the newest results, which the model has not seen yet, and only as far as it must be. Every call keeps
 * its one message. What the user said in this turn, and the messages that prepare it, stay whole.
 *
 * Tokens are estimated from bytes, four to a token, which is near enough for text and code. */

#include "base/strbuf.h"
#include "model/message.h"

struct compaction {
    int64_t before, after; /* tokens, estimated */
    size_t results;        /* tool results that were shortened */
    size_t turns;          /* earlier turns in the digest */
    size_t calls;          /* calls whose arguments were shortened */
};

/* Of a text of so many bytes. */
int64_t compaction_text_tokens(size_t bytes);
/* Of the messages from the `first`-th on. */
int64_t compaction_tokens(const struct message_list *messages, size_t first);
/* Shortens until there are at most `target` tokens or nothing more can be left out; what is new until there are at most
 * `must`. Returns what was done. */
struct compaction compaction_run(struct message_list *messages, int64_t target, int64_t must);
/* "7 tool results shortened, 2 earlier turns summarised"; "" when nothing was. */
void compaction_how(struct strbuf *out, const struct compaction *done);
