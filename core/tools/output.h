#pragma once
/* What a tool's output says to the executor, and the shapes it is handed on in. */

#include <stdbool.h>
#include <stddef.h>

struct json;
struct strbuf;

/* What an output comes to: all that is done with every one of them, so that it can be done on the pool and nothing but
 * the result is carried on. Zeroed: none. */
struct output_shape {
    bool made;
    char *fault; /* why it is not JSON; NULL: it is */
    bool wants_confirmation;
    char *error;       /* output_error */
    char *text;        /* compacted; NULL when that is still too long for the model */
    char *cut, *whole; /* then: output_cut, and all of it, indented, so that it can be read in parts by lines */
    size_t whole_len;
};
/* Takes *output away when `text` says the same; leaves it where the whole is still needed. */
void output_shape_make(struct output_shape *shape, char **output);
/* The model proposed one thing and another was written: its result says so (output_add_approval), where there is one.
 */
void output_shape_approve(struct output_shape *shape, char **output, const char *note);
void output_shape_release(struct output_shape *shape);

/* A foreign tool's way to propose (D41): `needs_confirmation` is true, or `error` or `message` is just "Write
 * confirmation required". */
bool output_wants_confirmation(const struct json *output);
/* The text of an output with `status` "error", short enough for a message; NULL for any other. */
char *output_error(const struct json *output);
/* A sentence of a tool's, short enough for a message. */
char *output_sentence(const char *text);
/* The output with a member `approval`, which is decision_note's: what of the proposal was written. What is no object
 * becomes its `output`. */
void output_add_approval(struct strbuf *out, const struct json *output, const char *note);
/* An output that is too long and cannot be kept: valid JSON of at most COMPACT_INLINE_MAX characters (D39). */
void output_cut(struct strbuf *out, const struct json *output);
