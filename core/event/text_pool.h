#pragma once
/* The short texts of the rows of a fold, shared by all folds of one journal.
 *
 * A text is created once, never changes, and stays until the last owner frees the pool. So rows hold plain pointers.
 * A keyframe of a replay is a copy of rows, and folding the same events again finds the existing texts. Equal texts
 * are stored once. */

#include <stddef.h>

struct text_pool;

struct text_pool *text_pool_new(void);
struct text_pool *text_pool_share(struct text_pool *pool); /* one more owner */
void text_pool_free(struct text_pool *pool);               /* one fewer; the last one frees */
/* Returns the text; of a longer one the first `max_chars` characters and "…"; "" for NULL. Malformed bytes become
 * U+FFFD as in a journal, so that the fold of a live session equals that of its recording. */
const char *text_pool_put(struct text_pool *pool, const char *text, size_t max_chars);
size_t text_pool_bytes(const struct text_pool *pool); /* of all texts */
