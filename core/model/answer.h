#pragma once
/* An answer while it streams in, and the dialects (wire formats) it comes in.
 *
 * A dialect writes a request and adds the events of its answer to a struct answer. answer_finish turns that into the
 * reply. All of these are pure functions over text; live.c has the connection.
 *
 * No tool ever runs with incomplete arguments. A stream that ends without its end marker is an error, whatever came
 * before. If the marker came, the answer may still be cut off (max_tokens), refused, or not report a call as complete.
 * Then its calls are marked incomplete, even if their arguments can be read. The turn refuses them, and the model reads
 * why. */

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "provider.h"

struct answer_call {
    int64_t index; /* the stream's number for it */
    char *id, *name;
    struct strbuf arguments;
    bool closed; /* the stream reported it as complete */
};

enum block_kind { BLOCK_TEXT, BLOCK_THINKING, BLOCK_CALL, BLOCK_OTHER };

/* A block of the answer, for dialects that must send blocks back in order. */
struct answer_block {
    enum block_kind kind;
    int64_t index;
    size_t at, len;                /* a text: its position in the answer's text */
    size_t call;                   /* a call: its index */
    struct strbuf text, signature; /* thinking; of another kind, `text` is its JSON */
    struct strbuf input;           /* another kind: the JSON of its input, if that comes in pieces */
};

struct answer {
    struct strbuf text, thinking;
    size_t kept; /* bytes of text, thinking, arguments and blocks */
    struct answer_call *calls;
    size_t call_count, call_room;
    struct answer_block *blocks;
    size_t block_count, block_room;
    char *stop;
    struct usage usage;
    bool counted;        /* the server sent token counts */
    int64_t fresh_input; /* prompt tokens without any cache, if the server counts them separately */
    double cost_usd;     /* sent by the server; NaN: unknown */
    bool refused;
    bool ended;         /* the end marker came */
    char *error;        /* sent by the stream; NULL: none */
    bool retryable;     /* the error is temporary */
    bool too_long;      /* the error means that the request is too long for the model */
    struct arena arena; /* of the event being read */
    /* Called with pieces as they come; NULL: no listener. Returns false to stop reading. */
    bool (*delta)(void *user, const char *text, const char *thinking);
    void *user;
};

void answer_init(struct answer *answer);
void answer_release(struct answer *answer);
/* Add a piece and call delta. Return false if the rest is not wanted. */
bool answer_add_text(struct answer *answer, const char *text, size_t len);
bool answer_add_thinking(struct answer *answer, const char *text, size_t len);
/* Returns the newest call with this index, or NULL. Valid until the next one is added. */
struct answer_call *answer_find_call(struct answer *answer, int64_t index);
/* Returns NULL after answer_fail if there are too many. */
struct answer_call *answer_add_call(struct answer *answer, int64_t index, const char *id, const char *name);
bool answer_add_arguments(struct answer *answer, struct answer_call *call, const char *text, size_t len);
struct answer_block *answer_find_block(struct answer *answer, int64_t index);
/* Returns NULL after answer_fail if there are too many. */
struct answer_block *answer_add_block(struct answer *answer, int64_t index, enum block_kind kind);
/* Counts bytes kept in a block. Returns false after answer_fail if the answer is too long. */
bool answer_keep(struct answer *answer, size_t len);
void answer_set_stop(struct answer *answer, const char *stop);
/* Records an error of the stream; the first one counts. */
void answer_fail(struct answer *answer, bool retryable, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Parses an event's data in the answer's arena. Repairs text that JSON may not hold (malformed UTF-8, \u0000). Returns
 * NULL after answer_fail. */
const struct json *answer_parse(struct answer *answer, const char *data, size_t len);

/* Turns the answer into a reply or an error. */
void answer_finish(struct answer *answer, struct model_reply *reply);

/* ---- dialects ---- */

/* A model reached over HTTP, as the config describes it. */
struct live_spec {
    const char *provider; /* name of the dialect */
    const char *base_url; /* NULL: the dialect's own */
    const char *model;    /* the server's name for it */
    const char *key;      /* NULL: send none */
    const char *options;  /* JSON object copied into every request; NULL: nothing */
    struct prices prices;
    int64_t idle_ms;     /* the longest silence of the server; 0: the default */
    bool allow_http;     /* the key may be sent over plain http to another machine */
    size_t answer_max;   /* bytes of an answer's stream; 0: the default of 64 MB */
    bool keep_reasoning; /* send the model's reasoning back with its tool calls */
};

/* The input of a dialect's writer. */
struct dialect_request {
    const struct live_spec *spec;
    const struct json *options; /* parsed; NULL: none */
    const struct model_request *request;
};

/* Where a writer is between two groups of messages. */
struct writer_state {
    bool comma;     /* the next value needs one */
    bool begun;     /* a message was written already */
    enum role role; /* of the open message; ROLE_SYSTEM: none */
    bool paused;    /* the newest answer was interrupted and is to be continued */
    bool go_on;     /* the newest message asks for nothing */
    bool answered;  /* the newest message that was written is an answer without calls */
};
#define WRITER_STATE_INIT ((struct writer_state){.role = ROLE_SYSTEM, .go_on = true})

struct request_writer {
    struct json_writer w;
    const struct dialect_request *ask;
    const struct message_list *messages;
    struct writer_state state;
    struct arena arena; /* of a group */
};

struct dialect {
    const char *name;
    const char *usual_url;
    const char *path;       /* appended to the base URL */
    const char *usual_env;  /* the variable that holds the key for the default URL */
    const char *key_header; /* the text before the key, with the colon */
    const char *header;     /* one more; NULL: none */
    /* The three parts of a request's body (body.h). The head ends where the messages begin; returns the first message
     * that is not in it. */
    size_t (*write_head)(struct request_writer *writer);
    /* Writes the messages that belong together from message `i` on. Returns the first message after them. */
    size_t (*write_group)(struct request_writer *writer, size_t i);
    void (*write_end)(struct request_writer *writer);
    /* Takes the data of one event. Returns false to stop reading: the answer has ended or failed. */
    bool (*take)(struct answer *answer, const char *data, size_t len);
    /* Called once when the answer is complete. Returns what its message must hold when it is sent back; NULL:
     * nothing. */
    char *(*keep)(const struct answer *answer, const struct live_spec *spec);
};
extern const struct dialect dialect_anthropic, dialect_openai;
/* Returns NULL if unknown. */
const struct dialect *dialect_find(const char *name);
/* All of them, NULL-terminated. */
extern const struct dialect *const dialects[];

/* ---- parts of writers ---- */

/* Returns true if the user's options set this field themselves (null: leave it out). */
bool dialect_said(const struct dialect_request *ask, const char *field);
/* Writes the options, at the end of the body. */
void dialect_write_options(struct json_writer *w, const struct dialect_request *ask);
/* Counts the system messages at the beginning: they form the system prompt. A later one is sent as a user message,
 * because neither API has a place for it. */
size_t dialect_system_count(const struct message_list *messages);
bool dialect_blank(const char *text);
/* Returns a call's arguments as a JSON object in the arena, whatever the model sent. */
const struct json *dialect_arguments(struct arena *arena, const char *arguments);
/* Returns the tool message for call `id` in the run of tool messages that begins at `from`, or NULL. */
const struct message *dialect_result(const struct message_list *messages, size_t from, const char *id);
/* Returns the number of consecutive tool messages from there. */
size_t dialect_results(const struct message_list *messages, size_t from);
/* Sent for a missing result, and after a last message of the model's own. */
extern const char dialect_no_result[], dialect_go_on[];

/* ---- parts of readers ---- */

/* Reads a number of tokens; ignores an impossibly large one. */
int64_t dialect_count(const struct json *usage, const char *field, int64_t otherwise);
/* Extracts one sentence from an API's error JSON; false if it has none. Sets `retryable` only if the words say so. */
bool dialect_error(const struct json *body, struct strbuf *out, bool *retryable);
/* Returns true if such an error means that the request holds more than the model can read. */
bool dialect_too_long(const struct json *body);
/* Makes an error event of the stream the error of the answer. */
void dialect_fail(struct answer *answer, const struct json *event);
