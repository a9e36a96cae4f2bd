#pragma once
/* Memory for things that die together. Allocation is a pointer bump; everything goes at once with arena_reset, which
 * keeps one block for the next round, or arena_release. */

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *block; /* the one allocated from; earlier ones hang off it */
    char *next;
    char *end;
};

#define ARENA_INIT ((struct arena){NULL, NULL, NULL})

void *arena_alloc(struct arena *arena, size_t size); /* aligned for any type, not zeroed */
void *arena_calloc(struct arena *arena, size_t count, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_memdup0(struct arena *arena, const void *bytes, size_t len);
char *arena_printf(struct arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_reset(struct arena *arena);
size_t arena_bytes(const struct arena *arena); /* of memory that it holds */
void arena_release(struct arena *arena);

static inline void arena_cleanup(struct arena *arena)
{
    arena_release(arena);
}
