#pragma once
/* The body of the requests to one model. It grows with its conversation: body_write keeps what the messages before the
 * first changed one came to, and writes only the rest, so a step costs what is new and not what was said before.
 *
 * The bytes are always those that an empty body would get. A dialect writes a head, then the messages in groups, then
 * an end. What it writes for a group depends on the messages up to the one after the group, and on nothing later; what
 * depends on the end of the list is only in the last group. So the last group is always written again. */

#include "answer.h"

struct body_group {
    size_t message;            /* its first message */
    size_t at;                 /* where it begins, from the end of the head */
    struct writer_state state; /* before it */
};

struct body {
    struct strbuf text; /* what is sent */
    struct strbuf head; /* its beginning: all that is not a message */
    struct body_group *groups;
    size_t group_count, group_room;
    uint64_t *stamps; /* of the messages in the text */
    size_t stamp_count, stamp_room;
};

void body_init(struct body *body);
void body_release(struct body *body);
/* Writes a request into `body->text`, which is valid until the next call. */
void body_write(struct body *body, const struct dialect *dialect, const struct dialect_request *ask);
