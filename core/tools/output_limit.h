#pragma once
/* The limit on a tool's output: OUTPUT_LIMIT_INLINE_MAX characters reach the model, the rest goes to an artifact.
 *
 * Every output is made smaller by the same rules. An object with an `entries` list: the list is cut to 200 entries,
 * nothing else changes. Otherwise strings are cut to 3,000 characters at every level, a top-level list to 200 items, a
 * top-level object to its first 80 members, and containers below level 4 become a short text. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;
struct strbuf;

/* Characters of an output that the model gets inline, in JSON_PYTHON style: about 3,000 tokens. The value is fixed by
 * the specification: tests/vectors/cases.jsonl checks it. */
#define OUTPUT_LIMIT_INLINE_MAX 12000

/* Appends the shortened value as JSON in `style` (enum json_style). */
void output_limit_write(struct strbuf *out, const struct json *value, unsigned style);
/* The length that is compared with the limit. */
size_t output_limit_length(const struct json *value);

/* ---- the output of a call ---- */

/* An output after all processing that every output needs. Made on a pool thread; the loop gets only this. Zeroed: none.
 */
struct output_shape {
    bool made;
    char *fault; /* why it is not JSON; NULL: it is */
    bool wants_confirmation;
    char *error;       /* output_error */
    char *text;        /* shortened; NULL: still too long for the model */
    char *cut, *whole; /* then: output_cut, and the whole text, indented so that read_file can page it by lines */
    size_t whole_len;
};
/* Frees *output if `text` replaces it; leaves it if the whole is still needed. */
void output_shape_make(struct output_shape *shape, char **output);
/* Adds the note that the user approved something else than the model proposed (output_add_approval). */
void output_shape_approve(struct output_shape *shape, char **output, const char *note);
void output_shape_release(struct output_shape *shape);

/* A tool's sentence, short enough for a message. */
char *output_sentence(const char *text);

/* ---- pages ----
 *
 * A tool that can continue later ends its page before the limit and says where the next page begins. So nothing is cut
 * without the model knowing, and reading an artifact never makes another artifact. */

#define PAGE_ENTRIES 200 /* as many as output_limit_write keeps */

/* Characters that a text takes when the limit is measured, with its quotes. */
size_t output_limit_cost(const char *text, size_t len);
/* Characters left for the entries of an answer that also repeats `about` (a path, a pattern). */
size_t output_limit_room(const char *about);
/* Bytes of the longest beginning of the text that costs at most `room`; ends between characters, and is at least
 * one. */
size_t page_fitting(const char *text, size_t len, size_t room);

/* ---- long texts: program output as a whole, or its head and tail and the artifact with all of it ---- */

struct artifact;
struct json_writer;
struct tool_env;

#define LONG_TEXT_ROOM 9000 /* characters of an answer for printed text; 3,000 of the limit are left for the rest */

/* Adds the text as member `key`. If it takes more than `room` characters (as output_limit_cost counts), it is shortened
 * in the middle, and "<prefix>truncated", "<prefix>total_bytes" and "<prefix>artifact" are added. The artifact is for
 * read_file; it is missing if it cannot be stored. Blocks. */
void output_limit_add_text(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                           size_t room, const struct tool_env *env, const char *tool);
/* The same for the beginning and the end of a text of `total` bytes, longer than the room. `kept` NULL: not stored. */
void output_limit_add_cut(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                          size_t room, uint64_t total, const struct artifact *kept);
