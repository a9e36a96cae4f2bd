#pragma once
/* The reflection engine: one look back at the step, if there is budget and time for it. Always ends in a result. */

#include "budget.h"
#include "model/provider.h"

struct reflection {
    char *text;
    bool should_continue;
    bool stub; /* no model was asked, or it failed */
};
void reflection_release(struct reflection *reflection);

/* What is decided before a model is asked: claims a slot, then checks the deadline. True with *out filled (a stub) when
 * it ends here; false when the model is to be asked, with *timeout_s to wait at most. */
bool reflect_early(struct budget *budget, struct reflection *out, int *timeout_s);
/* min(30, max(5, whole seconds left)) */
int reflect_timeout_s(double remaining_s);
/* The result of what the model said; a failed reply gives a stub. An answer that begins with STOP does not continue. */
struct reflection reflect_result(const struct model_reply *reply);
/* The messages of the question: the turn so far and what failed. */
void reflect_messages(struct message_list *out, const struct message_list *turn, const char *failures);
