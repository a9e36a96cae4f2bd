#pragma once
/* What is said to a model and what it answers, without any provider's spelling. */

#include "event/event.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };
const char *role_name(enum role role); /* "system" … */

struct tool_call {
    char *id;
    char *name;
    char *arguments; /* JSON text as the model gave it; may be no valid JSON */
    bool incomplete; /* of an answer that ended before it did: not to be run, even where what came of it can be read */
};

struct message {
    enum role role;
    const char *meaning; /* what it is for, e.g. "prompt", "runtime metadata"; static text, never sent; may be NULL */
    char *text;
    struct tool_call *calls; /* of an assistant message */
    size_t call_count;
    char *opaque;  /* of an assistant message: what its provider wants back unchanged; a JSON object, or NULL */
    char *call_id; /* of a tool message */
    bool failed;   /* likewise: it tells why there is no result */
};

struct message_list {
    struct message *items;
    size_t count, room;
};

void message_list_init(struct message_list *list);
void message_list_release(struct message_list *list);
/* Copies the text; the message returned may be completed until the next one is added. */
struct message *message_list_add(struct message_list *list, enum role role, const char *text);
struct message *message_list_take(struct message_list *list, enum role role, char *take_text);
void message_list_copy(struct message_list *to, const struct message_list *from);
/* The messages of `take_from` behind those of `to`. */
void message_list_append(struct message_list *to, struct message_list *take_from);
void message_add_call(struct message *message, const char *id, const char *name, const char *arguments);
void tool_calls_free(struct tool_call *calls, size_t count);
/* Messages in events. Texts are borrowed from the list; what is made for the event is in the arena. */
struct event_message_list message_list_to_event(struct arena *arena, const struct message_list *list);
/* Appends the messages of an event; an item that is no message is left out. */
void message_list_read(struct message_list *list, const struct event_message_list *events);
/* Appends the call of an answer; what is missing is "". */
void message_read_call(struct message *message, const struct event_tool_request *call);
/* Arguments as events hold them, JSON or a string, and back; NULL stays NULL. */
const char *arguments_to_event(struct arena *arena, const char *arguments, bool objects_only);
char *arguments_from_event(const char *json);

struct usage {
    int64_t input, output, cache_read, cache_write; /* input counts every prompt token, cached ones too */
};
struct usage usage_from_event(const struct event_usage *usage); /* NULL: nothing was used */
struct event_usage usage_to_event(const struct usage *usage);
