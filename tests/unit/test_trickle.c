/* What a program prints, on its way to people. */

#include "tools/trickle.h"
#include "base/mem.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct fake_clock fake;
static struct loop *loop;
static struct trickle trickle;
static struct strbuf told; /* pieces, with a | behind each */
static size_t pieces;

static void tell(void *user, const char *text, size_t len)
{
    (void)user;
    assert_int_equal(strlen(text), len);
    strbuf_add(&told, text, len);
    strbuf_addch(&told, '|');
    pieces++;
}

static int begin(void **state)
{
    (void)state;
    fake_clock_init(&fake);
    loop = loop_new(&fake.base);
    strbuf_init(&told);
    pieces = 0;
    trickle_init(&trickle, loop, 100, tell, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    trickle_release(&trickle);
    trickle_release(&trickle);
    strbuf_release(&told);
    loop_free(loop);
    return 0;
}

static void add(const char *text)
{
    trickle_add(&trickle, text, strlen(text));
}

static void test_pieces_are_gathered(void **state)
{
    (void)state;
    add("a");
    add("b\n");
    assert_int_equal(pieces, 0);
    loop_run(loop);
    add("c");
    loop_run(loop);
    assert_string_equal(told.buf, "ab\n|c|");
}

static void test_characters_are_whole(void **state)
{
    (void)state;
    add("x\xC3");
    loop_run(loop);
    add("\xA9\xF0\x9F");
    trickle_flush(&trickle, false);
    add("\x98\x80\xE2\x82");
    trickle_flush(&trickle, true);
    assert_string_equal(told.buf, "x|\xC3\xA9|\xF0\x9F\x98\x80\xEF\xBF\xBD|");
}

static void test_what_is_no_text(void **state)
{
    (void)state;
    trickle_add(&trickle, "a\0b\xFF", 4);
    trickle_flush(&trickle, true);
    assert_string_equal(told.buf, "a\xEF\xBF\xBD" "b\xEF\xBF\xBD|");
}

static void test_a_flood_is_cut_once(void **state)
{
    (void)state;
    CLEANUP(free) char *flood = xmalloc(3 * TRICKLE_PIECE);
    memset(flood, 'x', 3 * TRICKLE_PIECE);
    trickle_add(&trickle, flood, 3 * TRICKLE_PIECE);
    trickle_add(&trickle, flood, 3 * TRICKLE_PIECE);
    trickle_flush(&trickle, true);
    assert_int_equal(pieces, 1);
    assert_int_equal(told.len, 100 + strlen(TRICKLE_CUT) + 1);
    assert_non_null(strstr(told.buf, TRICKLE_CUT));
}

static void test_nothing_is_told_after_the_release(void **state)
{
    (void)state;
    add("late");
    trickle_release(&trickle);
    loop_run(loop);
    assert_int_equal(pieces, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pieces_are_gathered), TEST(test_characters_are_whole), TEST(test_what_is_no_text),
        TEST(test_a_flood_is_cut_once), TEST(test_nothing_is_told_after_the_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
