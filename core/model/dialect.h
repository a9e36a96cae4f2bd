#pragma once
/* A wire format: how a request is written and how the events of its answer are read. Pure functions over text; live.c
 * has the connection. */

#include "answer.h"
#include "pricing.h"

/* A model that is asked over HTTP, as the config describes it. */
struct live_spec {
    const char *provider; /* name of the dialect */
    const char *base_url; /* NULL: the dialect's own */
    const char *model;    /* what the server calls it */
    const char *key;      /* NULL: none is sent */
    const char *options;  /* JSON object of what goes into every request as it is; NULL: nothing */
    struct prices prices;
    int64_t idle_ms;     /* the longest silence of the server; 0: the usual one */
    bool allow_http;     /* the key may go over plain http to another machine */
    size_t answer_max;   /* bytes of an answer's stream; 0: the usual 64 MiB */
    bool keep_reasoning; /* the model wants its reasoning back with its tool calls */
};

/* What a dialect's writer has at hand. */
struct dialect_request {
    const struct live_spec *spec;
    const struct json *options; /* parsed; NULL: none */
    const struct model_request *request;
};

struct dialect {
    const char *name;
    const char *usual_url;
    const char *path;       /* behind the base URL */
    const char *usual_env;  /* the variable that holds the key of the usual URL */
    const char *key_header; /* what stands before the key, with the colon */
    const char *header;     /* one more; NULL: none */
    /* The body of a request. */
    void (*write)(struct strbuf *out, const struct dialect_request *ask);
    /* The data of one event. False: nothing more is wanted, the answer has ended or failed. */
    bool (*take)(struct answer *answer, const char *data, size_t len);
    /* Once, when the answer is complete: what its message must hold when it is sent back; NULL: nothing. */
    char *(*keep)(const struct answer *answer, const struct live_spec *spec);
};
extern const struct dialect dialect_anthropic, dialect_openai;
/* NULL when unknown. */
const struct dialect *dialect_find(const char *name);
/* All of them, NULL-terminated. */
extern const struct dialect *const dialects[];

/* Parts of writers. */

/* True when the user's options have their own idea of a field (null: it is left out). */
bool dialect_said(const struct dialect_request *ask, const char *field);
/* The options themselves, at the end of the body. */
void dialect_write_options(struct json_writer *w, const struct dialect_request *ask);
/* How many of the messages are system messages at the beginning: those are the system prompt. One that comes later is
 * said by the user: neither API has a place for it. */
size_t dialect_system_count(const struct message_list *messages);
bool dialect_blank(const char *text);
/* A call's arguments as a JSON object, whatever the model gave; in the arena. */
const struct json *dialect_arguments(struct arena *arena, const char *arguments);
/* The tool message for call `id` in the run of tool messages that begins at `from`; NULL when there is none. */
const struct message *dialect_result(const struct message_list *messages, size_t from, const char *id);
/* Number of tool messages in a row from there. */
size_t dialect_results(const struct message_list *messages, size_t from);
/* What is sent where a result is missing, and after a last message that is the model's own. */
extern const char dialect_no_result[], dialect_go_on[];

/* Parts of readers. */

/* A number of tokens; what no answer could have used is none. */
int64_t dialect_count(const struct json *usage, const char *field, int64_t otherwise);
/* One sentence out of an API's JSON; false when it tells none. `retryable` only where the words say so. */
bool dialect_error(const struct json *body, struct strbuf *out, bool *retryable);
/* True when such an error means that the request holds more than the model can read. */
bool dialect_too_long(const struct json *body);
/* An event of the stream that tells an error: it is the answer's. */
void dialect_fail(struct answer *answer, const struct json *event);
