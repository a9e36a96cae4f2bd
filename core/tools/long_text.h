#pragma once
/* What a program printed, in an answer for the model: all of it, or its head and its tail and where the whole is kept.
 */

#include <stddef.h>
#include <stdint.h>

struct artifact;
struct json_writer;
struct tool_env;

#define LONG_TEXT_ROOM 9000 /* characters of an answer for what was printed */

/* Adds the text as member `key`. When it takes more than `room` characters (as page_cost counts) it is shortened in the
 * middle, and "<prefix>truncated", "<prefix>total_bytes" and "<prefix>artifact" say so; the artifact, which read_file
 * reads, is there unless it cannot be kept. Blocks. */
void long_text_add(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                   size_t room, const struct tool_env *env, const char *tool);
/* The same of a text that is the beginning and the end of one of `total` bytes, longer than the room. `kept` NULL:
 * nowhere. */
void long_text_add_cut(struct json_writer *w, const char *key, const char *prefix, const char *text, size_t len,
                       size_t room, uint64_t total, const struct artifact *kept);
