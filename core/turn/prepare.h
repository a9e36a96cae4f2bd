#pragma once
/* The turn preparer: the messages of a turn's first request, in a fixed order: system prompt, runtime metadata, memory
 * (if any), project instructions (if any), history, context pack (always there, labelled untrusted), skill context (if
 * any), user message. The result is not changed any more; the loop appends to a copy. */

#include "base/hash.h"
#include "model/message.h"

struct prepare_input {
    const char *system_prompt; /* of this call: the render hash follows it and the model */
    const char *session, *provider, *model;
    int64_t wall_us;          /* for today and tomorrow */
    const char *memory;       /* text, "" or NULL: none */
    const char *instructions; /* of the project, as its file has them; NULL: none */
    const struct message_list *history;
    const char *context_pack; /* JSON text; NULL: an empty pack */
    const char *skill;        /* NULL: none */
    const char *prompt;
};

struct preparation {
    struct message_list messages;
    char render_hash[HASH_SHA256_HEX];
};

void prepare_turn(struct preparation *out, const struct prepare_input *input);
void preparation_release(struct preparation *preparation);
extern const char prepare_default_prompt[];
