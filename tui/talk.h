#pragma once
/* What was said, item by item: what you said, what the model thought and said, what it made of its steps, how the turn
 * ended.
 *
 * Items are counted, not collected: a turn has a prompt and an end, a step an answer and perhaps a look back, so the
 * item with a number is found among the session's rows by halving. */

#include "view.h"
#include "wrapped.h"

enum talk_kind { TALK_PROMPT, TALK_ANSWER, TALK_REFLECTION, TALK_END };

struct talk_item {
    enum talk_kind kind;
    uint32_t turn, step; /* indexes */
};

size_t talk_count(const struct session *session);
/* `number` is below the count. */
struct talk_item talk_item(const struct session *session, size_t number);
/* The event that holds its text; 0 while there is none. */
int64_t talk_seq(const struct session *session, struct talk_item item);
/* Its lines. Every item but the first begins with an empty line. Some have none: a step without a look back, a turn
 * that has not ended. */
void talk_wrap(struct wrapped *out, const struct view *view, size_t number, int width);
