/* Allocates memory for values that are freed together (arena.h).
 *
 * Blocks are a list, newest first, and memory comes from the newest. A block is at least twice as large as the one
 * before, so a large arena has few blocks. A reset keeps the newest block, which is the largest. Texts are packed
 * without alignment; arena_alloc aligns its start. */

#include "arena.h"
#include "err.h"
#include "mem.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FIRST_BLOCK  ((size_t)1024)
#define LARGEST_STEP ((size_t)8 << 20)

struct arena_block {
    struct arena_block *prev;
    size_t size; /* of data */
    _Alignas(max_align_t) char data[];
};

static void start(struct arena *arena, struct arena_block *block)
{
    arena->block = block;
    arena->next = block->data;
    arena->end = block->data + block->size;
}

static void add_block(struct arena *arena, size_t need)
{
    size_t size = arena->block ? arena->block->size : FIRST_BLOCK / 2;
    if (size < LARGEST_STEP)
        size *= 2;
    if (size < need)
        size = need;
    if (size > SIZE_MAX - sizeof(struct arena_block))
        BUG("a block of %zu bytes", size);
    struct arena_block *block = xmalloc(sizeof(*block) + size);
    block->prev = arena->block;
    block->size = size;
    start(arena, block);
}

/* Room for a text: no alignment. */
static char *take_bytes(struct arena *arena, size_t size)
{
    if ((size_t)(arena->end - arena->next) < size || !arena->block)
        add_block(arena, size);
    char *bytes = arena->next;
    arena->next += size;
    return bytes;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t mask = _Alignof(max_align_t) - 1;
    size_t pad = (size_t)(-(uintptr_t)arena->next & mask);
    size_t left = (size_t)(arena->end - arena->next);
    if (!arena->block || left < pad || left - pad < size) {
        add_block(arena, size);
        pad = 0;
    }
    char *bytes = arena->next + pad;
    arena->next = bytes + size;
    return bytes;
}

void *arena_calloc(struct arena *arena, size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all))
        BUG("%zu items of %zu bytes", count, size);
    return memset(arena_alloc(arena, all), 0, all);
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_memdup0(arena, text, strlen(text));
}

char *arena_memdup0(struct arena *arena, const void *bytes, size_t len)
{
    if (len == SIZE_MAX)
        BUG("no room for the NUL");
    char *copy = take_bytes(arena, len + 1);
    if (len)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len < 0)
        BUG("cannot format \"%s\"", fmt);
    char *text = take_bytes(arena, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    return text;
}

size_t arena_bytes(const struct arena *arena)
{
    size_t bytes = 0;
    for (const struct arena_block *block = arena->block; block; block = block->prev)
        bytes += sizeof(*block) + block->size;
    return bytes;
}

void arena_reset(struct arena *arena)
{
    struct arena_block *block = arena->block;
    if (!block)
        return;
    while (block->prev) {
        struct arena_block *older = block->prev;
        block->prev = older->prev;
        free(older);
    }
    start(arena, block);
}

void arena_release(struct arena *arena)
{
    struct arena_block *block = arena->block;
    while (block) {
        struct arena_block *older = block->prev;
        free(block);
        block = older;
    }
    *arena = (struct arena)ARENA_INIT;
}
