#pragma once
/* An answer while it streams in: what the dialects put together piece by piece, and what becomes of it in the end.
 *
 * No tool ever runs on half of its arguments. A stream that ends without its end marker is an error, whatever came.
 * Where the marker came but the answer was cut off (max_tokens), was refused, or did not say that a call is complete,
 * its calls are handed on as incomplete, whatever can be read of them; the turn refuses them and the model reads why.
 */

#include "base/arena.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "provider.h"

struct answer_call {
    int64_t index; /* what the stream calls it by */
    char *id, *name;
    struct strbuf arguments;
    bool closed; /* the stream said that it is complete */
};

enum block_kind { BLOCK_TEXT, BLOCK_THINKING, BLOCK_CALL, BLOCK_OTHER };

/* A block of the answer, for dialects that want their blocks back in order. */
struct answer_block {
    enum block_kind kind;
    int64_t index;
    size_t at, len;                /* a text: where it stands in the answer's */
    size_t call;                   /* a call: which */
    struct strbuf text, signature; /* thinking; `text` is the JSON of another */
    struct strbuf input;           /* another: the JSON of its input, where that comes in pieces */
};

struct answer {
    struct strbuf text, thinking;
    size_t kept; /* bytes of the text, the thinking, the arguments and the blocks */
    struct answer_call *calls;
    size_t call_count, call_room;
    struct answer_block *blocks;
    size_t block_count, block_room;
    char *stop;
    struct usage usage;
    bool counted;        /* the server told it */
    int64_t fresh_input; /* prompt tokens that no cache had a part in, where they are counted apart */
    double cost_usd;     /* told by the server; NaN: not */
    bool refused;
    bool ended;         /* the end marker came */
    char *error;        /* the stream told one; NULL: none */
    bool retryable;     /* it */
    bool too_long;      /* it says that the request is too much for the model */
    struct arena arena; /* of the event being read */
    /* Pieces as they come; NULL: nobody listens. False: nobody wants the rest. */
    bool (*delta)(void *user, const char *text, const char *thinking);
    void *user;
};

void answer_init(struct answer *answer);
void answer_release(struct answer *answer);
/* Add a piece and tell it. False: nobody wants the rest. */
bool answer_add_text(struct answer *answer, const char *text, size_t len);
bool answer_add_thinking(struct answer *answer, const char *text, size_t len);
/* The newest call with this index; NULL when there is none. Valid until the next is added. */
struct answer_call *answer_find_call(struct answer *answer, int64_t index);
/* NULL after answer_fail: it has too many. */
struct answer_call *answer_add_call(struct answer *answer, int64_t index, const char *id, const char *name);
bool answer_add_arguments(struct answer *answer, struct answer_call *call, const char *text, size_t len);
struct answer_block *answer_find_block(struct answer *answer, int64_t index);
/* NULL after answer_fail: it has too many. */
struct answer_block *answer_add_block(struct answer *answer, int64_t index, enum block_kind kind);
/* Counts bytes that are kept in a block. False after answer_fail: the answer is too long. */
bool answer_keep(struct answer *answer, size_t len);
void answer_set_stop(struct answer *answer, const char *stop);
/* The stream told an error; the first one counts. */
void answer_fail(struct answer *answer, bool retryable, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Parses an event's data in the answer's arena; text that no JSON may hold (malformed UTF-8, \u0000) is mended. NULL
 * after answer_fail. */
const struct json *answer_parse(struct answer *answer, const char *data, size_t len);

/* The reply that it makes: an answer, or an error. */
void answer_finish(struct answer *answer, struct model_reply *reply);
