#pragma once
/* Answers to the open question about a write, as intents to submit. They borrow all their texts, even the question's id
 * and digest. */

#include "turn/engine.h"

struct intent answer_with(const struct question *question, struct decision decision);
struct intent answer_yes(const struct question *question);
struct intent answer_no(const struct question *question, const char *reason); /* the reason may be NULL */
struct intent answer_part(const struct question *question, struct event_hunk_choice_list hunks);
struct intent answer_edited(const struct question *question, struct change_set *edited);

/* Chooses these hunks of a file that has OF hunks, or none of them. The choice lives as long as the block around it. */
#define CHOICE(PATH, OF, ...)                                        \
    {                                                                \
        .path = (PATH), .of = (OF), .keep = {                        \
            (const int64_t[]){__VA_ARGS__},                          \
            sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t) \
        }                                                            \
    }
#define CHOICE_OF_NONE(PATH, OF)   \
    {                              \
        .path = (PATH), .of = (OF) \
    }
/* A list of one choice, and of several. */
#define HUNKS(...)                                                 \
    {                                                              \
        (const struct event_hunk_choice[]){CHOICE(__VA_ARGS__)}, 1 \
    }
#define CHOICES(COUNT, ...)                                      \
    {                                                            \
        (const struct event_hunk_choice[]){__VA_ARGS__}, (COUNT) \
    }
