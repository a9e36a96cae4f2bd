/* Makes the intents that answer the question about a write. */

#include "answers.h"

struct intent answer_with(const struct question *question, struct decision decision)
{
    return (struct intent){
        .type = INTENT_ANSWER,
        .answer = {.question = question->id,
                   .digest = question->digest,
                   .revision = question->revision,
                   .decision = decision},
    };
}

struct intent answer_yes(const struct question *question)
{
    return answer_with(question, (struct decision){.kind = DECISION_APPROVED});
}

struct intent answer_no(const struct question *question, const char *reason)
{
    return answer_with(question, (struct decision){.kind = DECISION_DENIED, .reason = reason});
}

struct intent answer_part(const struct question *question, struct event_hunk_choice_list hunks)
{
    return answer_with(question, (struct decision){.kind = DECISION_PARTIAL, .hunks = hunks});
}

struct intent answer_edited(const struct question *question, struct change_set *edited)
{
    return answer_with(question, (struct decision){.kind = DECISION_EDITED, .edited = edited});
}
