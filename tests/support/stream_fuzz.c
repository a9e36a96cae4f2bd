/* What the fuzz targets of the model dialects share. */

#include "stream_fuzz.h"
#include "base/mem.h"
#include "model/body.h"
#include "streams.h"

/* Turns a reply into a message and checks that the request with that message is JSON. */
static void send_back(const struct dialect *dialect, struct model_reply *reply)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct body body;
    const struct live_spec spec = {.provider = dialect->name, .model = "m"};
    struct message_list messages;
    message_list_init(&messages);
    struct message *message = message_list_add(&messages, ROLE_ASSISTANT, reply->text);
    for (size_t i = 0; i < reply->call_count; i++)
        message_add_call(message, reply->calls[i].id, reply->calls[i].name, reply->calls[i].arguments);
    message->opaque = steal(&reply->opaque);
    const struct model_request request = {.messages = &messages, .thinking_tokens = 500};
    body_init(&body);
    body_write(&body, dialect, &(struct dialect_request){&spec, NULL, &request});
    if (!json_parse(&arena, body.text.buf, body.text.len, NULL))
        BUG("a request that is no JSON: %s", body.text.buf);
    body_release(&body);
    message_list_release(&messages);
}

void stream_fuzz(const struct dialect *dialect, const char *bytes, size_t len)
{
    CLEANUP(free) char *first = NULL;
    for (size_t piece = 0; piece < 4; piece++) {
        struct model_reply reply;
        stream_read(dialect, bytes, len, piece, &reply);
        CLEANUP(free) char *said = stream_describe(&reply);
        if (!reply.error)
            send_back(dialect, &reply);
        if (reply.error && (reply.call_count || reply.text))
            BUG("an error with an answer");
        model_reply_release(&reply);
        if (first && strcmp(first, said) != 0)
            BUG("other pieces, another reply: %s, %s", first, said);
        if (!first)
            first = steal(&said);
    }
}
