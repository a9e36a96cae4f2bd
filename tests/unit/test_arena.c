/* The arena: alignment, no overlap, and what a reset keeps. */

#include "base/arena.h"
#include "base/mem.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

TEST(pieces_are_aligned)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < 2000; i++) {
        arena_strdup(&arena, i % 3 ? "odd" : "x"); /* leaves the next place unaligned */
        void *place = arena_alloc(&arena, i % 40);
        assert_int_equal((uintptr_t)place % _Alignof(max_align_t), 0);
    }
}

TEST(pieces_do_not_overlap)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    enum { COUNT = 600 };
    unsigned char *pieces[COUNT];
    size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = i * 37 % 1500 + (i == 300 ? 100000 : 0); /* one larger than any block until then */
        pieces[i] = i % 2 ? arena_alloc(&arena, sizes[i]) : arena_calloc(&arena, sizes[i], 1);
        if (i % 2 == 0)
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i % 251), sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(pieces[i][k], i % 251);
}

TEST(texts_are_copied)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    char *first = arena_strdup(&arena, "first");
    char *bytes = arena_memdup0(&arena, "a\0bZ", 3);
    char *made = arena_printf(&arena, "%s-%03d", first, 7);
    char *wide = arena_printf(&arena, "%10000s|", "end");
    assert_string_equal(first, "first");
    assert_memory_equal(bytes, "a\0b\0", 4);
    assert_string_equal(made, "first-007");
    assert_int_equal(strlen(wide), 10001);
    assert_string_equal(arena_memdup0(&arena, NULL, 0), "");
}

TEST(reset_keeps_one_block)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    arena_reset(&arena); /* of nothing */
    for (int i = 0; i < 1000; i++)
        arena_alloc(&arena, 1000);
    arena_reset(&arena);
    /* The block that was kept is the largest one, so the same amount again soon fits without a new block. */
    struct arena_block *kept = arena.block;
    size_t room = (size_t)(arena.end - arena.next);
    assert_true(room >= 500 * 1000);
    for (size_t i = 0; i < room / 1008; i++)
        arena_alloc(&arena, 1000);
    assert_ptr_equal(arena.block, kept);
    arena_reset(&arena);
    assert_ptr_equal(arena.block, kept);
    arena_release(&arena);
    assert_null(arena.block);
    assert_string_equal(arena_strdup(&arena, "usable again"), "usable again");
}
