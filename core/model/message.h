#pragma once
/* Messages to and from a model, independent of any provider's format. */

#include "event/event.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL };
const char *role_name(enum role role); /* "system" … */

struct tool_call {
    char *id;
    char *name;
    char *arguments; /* JSON text as the model sent it; may be invalid */
    bool incomplete; /* the answer ended too early: do not run this call, even if its arguments can be read */
};

struct message {
    enum role role;
    const char *meaning; /* its purpose, e.g. "prompt", "runtime metadata"; static text, never sent; may be NULL */
    char *text;
    struct tool_call *calls; /* of an assistant message */
    size_t call_count;
    char *opaque;   /* of an assistant message: JSON object that its provider wants back unchanged, or NULL */
    char *call_id;  /* of a tool message */
    bool failed;    /* of a tool message: it explains why there is no result */
    uint64_t stamp; /* equal stamps mean equal content: what was written for a request need not be written again */
    int64_t tokens; /* estimated by compaction; 0: not yet */
};

struct message_list {
    struct message *items;
    size_t count, room;
};

void message_list_init(struct message_list *list);
void message_list_release(struct message_list *list);
/* Copies the text. The caller may complete the returned message until the next one is added. */
struct message *message_list_add(struct message_list *list, enum role role, const char *text);
struct message *message_list_take(struct message_list *list, enum role role, char *take_text);
void message_list_copy(struct message_list *to, const struct message_list *from);
/* Must follow every change of a message that a model may have been sent. */
void message_changed(struct message *message);
void message_set_text(struct message *message, char *take_text);
void message_release(struct message *message);
void message_list_add_copies(struct message_list *to, const struct message_list *from);
/* Moves the messages of `take_from` to the end of `to`. */
void message_list_append(struct message_list *to, struct message_list *take_from);
void message_add_call(struct message *message, const char *id, const char *name, const char *arguments);
void tool_calls_free(struct tool_call *calls, size_t count);
/* The meaning of messages of earlier turns. */
extern const char message_history[];
bool message_is_earlier(const struct message *message);
/* Gives the call `id` and its result another id, if there is one: an API wants each id once in a request. */
void message_list_free_id(struct message_list *list, const char *id);
/* Converts messages for an event. Texts are borrowed from the list; new ones are in the arena. */
struct event_message_list message_list_to_event(struct arena *arena, const struct message_list *list);
/* The same with all messages of earlier turns as one of the role "earlier", which says how many they are. */
struct event_message_list message_list_to_event_briefly(struct arena *arena, const struct message_list *list);
/* Appends the messages of an event; skips items that are not a message. */
void message_list_read(struct message_list *list, const struct event_message_list *events);
/* The same with a copy of `history` in the place of the role "earlier". */
void message_list_read_with(struct message_list *list, const struct event_message_list *events,
                            const struct message_list *history);
/* Appends the call of an answer; missing texts become "". */
void message_read_call(struct message *message, const struct event_tool_request *call);
/* Convert arguments to their form in events, JSON or a string, and back; NULL stays NULL. */
const char *arguments_to_event(struct arena *arena, const char *arguments, bool objects_only);
char *arguments_from_event(const char *json);

struct usage {
    int64_t input, output, cache_read, cache_write; /* input counts every prompt token, cached ones too */
};
struct usage usage_from_event(const struct event_usage *usage); /* NULL: no usage */
struct event_usage usage_to_event(const struct usage *usage);
