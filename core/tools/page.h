#pragma once
/* How much a tool may answer at once.
 *
 * The executor keeps the first 200 `entries` of an output and sends one that is longer than COMPACT_INLINE_MAX
 * characters to an artifact, which the model would have to read with another call. A tool that can go on later ends its
 * page before either happens and says where the next one begins: then nothing is cut behind the model's back, and
 * reading an artifact cannot make another artifact. */

#include <stddef.h>

#define PAGE_ENTRIES 200

/* Characters that a text takes in the form the executor measures, with its quotes. */
size_t page_cost(const char *text, size_t len);
/* Characters for the entries of an answer that also repeats `about` (a path, a pattern). */
size_t page_room(const char *about);
/* Bytes of the longest beginning of the text that costs at most `room`; ends between characters, and is at least one.
 */
size_t page_fitting(const char *text, size_t len, size_t room);
