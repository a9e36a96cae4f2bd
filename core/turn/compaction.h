#pragma once
/* Shortens a conversation that comes near the context ceiling.
 *
 * No model takes part: fixed rules choose what to leave out. They apply in this order until the target is reached:
 *
 * 1. Old tool results are cut to their first lines, the oldest first.
 * 2. Earlier turns become a digest, the oldest first: one line for the prompt and one for the result.
 * 3. Long texts in the arguments of old calls are cut.
 * 4. Old steps of this turn become a digest, the oldest first: one line for each call.
 * 5. Rules 1, 3 and 4 once more for the newest half of the target, which they leave alone the first time.
 * 6. The newest results, which the model has not seen yet, are cut, only as far as necessary: first to RESULT_CHARS
 * each, or to NEWEST_CHARS if that is not enough.
 *
 * A digest holds at most an eighth of the target; its oldest lines go first. Every call that stays keeps its one
 * message, and a call goes together with its message. The user's prompt of this turn and the messages that prepare it
 * stay whole, and so do the calls of the newest answer: if they alone exceed the ceiling, the request is sent as it is,
 * and the model reports that it is too long.
 *
 * What was done is a list of parts. compaction_repeat applies them to the same messages with the same result, so the
 * journal needs no copy of the messages. A part says what to cut and not why, so that rules which choose differently
 * still repeat old recordings: they get a new version, and a part that comes to mean something else gets a new name.
 *
 * Tokens are estimated from bytes, four to a token, which is near enough for text and code. Each message keeps its
 * estimate until it changes. */

#include "base/strbuf.h"
#include "model/message.h"

#define COMPACTION_RULES     1 /* their version */
#define COMPACTION_PARTS_MAX 9

struct compaction {
    int64_t before, after;                                    /* tokens, estimated */
    size_t results;                                           /* shortened tool results */
    size_t turns;                                             /* earlier turns in the digest */
    size_t steps;                                             /* steps of this turn in the digest */
    size_t calls;                                             /* calls with shortened arguments */
    struct event_compaction_part parts[COMPACTION_PARTS_MAX]; /* what was done, in order */
    size_t part_count;
};

/* Estimated tokens of the messages from `first` on. */
int64_t compaction_tokens(struct message_list *messages, size_t first);
/* Tokens that stay whatever the target: the prompt, what prepares it, and the newest answer. `unseen`: those of the
 * newest results, which stay unless they must go. */
int64_t compaction_fixed(struct message_list *messages, int64_t *unseen);
/* Shortens until at most `target` tokens are left or nothing more can go; unseen results only until at most `must`
 * are left. Returns what was done. */
struct compaction compaction_run(struct message_list *messages, int64_t target, int64_t must);
/* Applies recorded parts to the messages that they were recorded for. Ignores parts that do not fit the messages. */
void compaction_repeat(struct message_list *messages, const struct event_compaction_part_list *parts);
/* "7 tool results shortened, 2 earlier turns summarized"; "" if nothing was. */
void compaction_how(struct strbuf *out, const struct compaction *done);
