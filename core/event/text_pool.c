/* A set of texts: an arena, and a hash table with open addressing to find them by content.
 *
 * The key is the text itself and not the event that it came from. A recording may have two events with one number,
 * and the same arguments, paths and reasons recur throughout a session. */

#include "text_pool.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <string.h>

struct text_pool {
    unsigned owners;
    struct arena arena;
    const char **slots; /* NULL: free */
    size_t count, room; /* room is a power of two */
    size_t bytes;
};

struct text_pool *text_pool_new(void)
{
    struct text_pool *pool = xcalloc(1, sizeof(*pool));
    pool->owners = 1;
    return pool;
}

struct text_pool *text_pool_share(struct text_pool *pool)
{
    pool->owners++;
    return pool;
}

void text_pool_free(struct text_pool *pool)
{
    if (!pool || --pool->owners)
        return;
    arena_release(&pool->arena);
    free(pool->slots);
    free(pool);
}

/* The slot that holds the text, or the free one where it belongs. */
static const char **find_slot(const struct text_pool *pool, const char *text, size_t len)
{
    size_t mask = pool->room - 1, at = hash_fnv1a(text, len) & mask;
    while (pool->slots[at] && (strncmp(pool->slots[at], text, len) != 0 || pool->slots[at][len]))
        at = (at + 1) & mask;
    return &pool->slots[at];
}

/* Never more than three quarters full. */
static void grow(struct text_pool *pool)
{
    size_t before = pool->room;
    const char **old = pool->slots;
    if ((pool->count + 1) * 4 <= before * 3)
        return;
    pool->room = before ? before * 2 : 64;
    pool->slots = xcalloc(pool->room, sizeof(*pool->slots));
    for (size_t i = 0; i < before; i++)
        if (old[i])
            *find_slot(pool, old[i], strlen(old[i])) = old[i];
    free(old);
}

const char *text_pool_put(struct text_pool *pool, const char *text, size_t max_chars)
{
    /* A character has at most four bytes, so no more of a long text is read. */
    size_t len = text ? strnlen(text, max_chars * 4 + 1) : 0, keep = utf8_prefix(text, len, max_chars);
    CLEANUP(strbuf) struct strbuf cut = STRBUF_INIT;
    if (!len)
        return "";
    if (keep < len || !utf8_valid(text, len)) {
        utf8_scrub(&cut, text, keep);
        strbuf_addstr(&cut, keep < len ? "…" : "");
        text = cut.buf;
        len = cut.len;
    }
    grow(pool);
    const char **slot = find_slot(pool, text, len);
    if (!*slot) {
        *slot = arena_memdup0(&pool->arena, text, len);
        pool->count++;
        pool->bytes += len + 1;
    }
    return *slot;
}

size_t text_pool_bytes(const struct text_pool *pool)
{
    return pool->bytes;
}
