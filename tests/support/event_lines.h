#pragma once
/* Event lines and the words about them, compared with stored ones.
 *
 * A golden is tests/fold/lines/NAME.jsonl with its words in tests/fold/words/NAME.txt. UPDATE_GOLDEN=1 writes both;
 * read the diff: a changed line is a changed file format. */

#include "base/strbuf.h"
#include "event/event.h"

/* Encodes a decoded event from its fields alone, not from the line it was decoded from; with a newline. No other
 * function can do that. */
void event_lines_add(struct strbuf *out, const struct event *event);
/* Adds its row in lists: "TYPE: summary", with a newline. */
void event_lines_add_words(struct strbuf *out, const struct event *event);

/* Decodes each line of a text; fails the running test if one cannot be read. */
void event_lines_each(const char *name, const char *text, size_t len,
                      void (*each)(const struct event *event, void *data), void *data);

/* Encodes each line of a text again, and compares lines and words with the golden NAME. */
void event_lines_check(const char *name, const char *text, size_t len);
/* Compares a text with a file, byte for byte; fails with the first line that differs. */
void event_lines_golden(const char *path, const struct strbuf *got);
