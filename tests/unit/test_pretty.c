/* Documents for reading: JSON told apart by role, texts as text, tracebacks marked, search and copying. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "pretty.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void assert_document(const struct pretty *pretty, const char *want)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    pretty_write(pretty, &got);
    assert_string_equal(got.buf, want);
}

static void assert_json(const char *text, int width, bool plain, const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(pretty) struct pretty pretty;
    pretty_init(&pretty, width);
    const struct json *value = json_parse(&arena, text, strlen(text), NULL);
    assert_non_null(value);
    (plain ? pretty_plain : pretty_json)(&pretty, value, 0);
    assert_document(&pretty, want);
}

static void json_is_one_member_a_line(void **state)
{
    (void)state;
    assert_json("{\"a\":1,\"b\":{\"c\":[1,2,\"x\"],\"d\":{}},\"e\":[]}", 80, false,
                "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [1, 2, \"x\"],\n    \"d\": {}\n  },\n  \"e\": []\n}\n");
    assert_json("9007199254740993", 80, false, "9007199254740993\n");
    assert_json("\"a\\u001bb\"", 80, false, "\"a\\u001bb\"\n");
}

static void lists_of_things_are_not_squeezed(void **state)
{
    (void)state;
    assert_json("[{\"a\":1},2]", 80, false, "[\n  {\n    \"a\": 1\n  },\n  2\n]\n");
}

static void long_texts_are_blocks(void **state)
{
    (void)state;
    assert_json("{\"t\":\"one\\ntwo\\n\",\"n\":null}", 80, false,
                "{\n  \"t\": (8 characters of text),\n    | one\n    | two\n  \"n\": null\n}\n");
    /* Words are kept whole where the document has a width. */
    assert_json("{\"t\":\"aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj kkkk llll mmmm nnnn oooo\"}", 40, false,
                "{\n  \"t\": (74 characters of text)\n    | aaaa bbbb cccc dddd eeee ffff gggg\n"
                "    | hhhh iiii jjjj kkkk llll mmmm nnnn\n    | oooo\n}\n");
}

static void plain_says_what_it_says(void **state)
{
    (void)state;
    assert_json("{\"path\":\"a.c\",\"size\":3,\"entries\":[\"one\",\"two\"],\"note\":\"x\\ny\"}", 80, true,
                "path: a.c\nsize: 3\nentries:\n  one\n  two\nnote:\n  x\n  y\n");
    assert_json("[{\"a\":1},{\"a\":2}]", 80, true, "a: 1\n-\na: 2\n");
}

static enum look look_of(const struct pretty *pretty, size_t line)
{
    const struct pretty_line *at = &pretty->lines[line];
    return (enum look)pretty->runs[at->run + at->count - 1].look;
}

static void tracebacks_have_their_places_marked(void **state)
{
    static const char text[] = "before\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n"
                               "ValueError: no\nafter\n";
    CLEANUP(pretty) struct pretty pretty;
    (void)state;
    pretty_init(&pretty, 80);
    pretty_text(&pretty, LOOK_TEXT, text, sizeof(text) - 1, 0, false);
    assert_int_equal(pretty.count, 6);
    static const enum look want[] = {LOOK_TEXT, LOOK_ERROR, LOOK_STRONG, LOOK_TEXT, LOOK_ERROR, LOOK_TEXT};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(look_of(&pretty, i), want[i]);
}

static void raw_lines_are_cut_at_the_width_and_nowhere_else(void **state)
{
    CLEANUP(pretty) struct pretty pretty;
    (void)state;
    pretty_init(&pretty, 20);
    pretty_raw(&pretty, "0123456789012345678901234567890", 31);
    pretty_raw(&pretty, "", 0);
    pretty_raw(&pretty, "日本語日本語日本語日本語", strlen("日本語日本語日本語日本語"));
    assert_document(&pretty, "01234567890123456789\n01234567890\n\n日本語日本語日本語日\n本語\n");
}

static void search_goes_round(void **state)
{
    CLEANUP(pretty) struct pretty pretty;
    (void)state;
    pretty_init(&pretty, 80);
    pretty_text(&pretty, LOOK_TEXT, "one\nTwo\nthree\ntwo", 17, 2, false);
    size_t line = 0;
    assert_true(pretty_search(&pretty, "two", false, &line));
    assert_int_equal(line, 1);
    assert_true(pretty_search(&pretty, "two", false, &line));
    assert_int_equal(line, 3);
    assert_true(pretty_search(&pretty, "two", false, &line));
    assert_int_equal(line, 1);
    assert_true(pretty_search(&pretty, "two", true, &line));
    assert_int_equal(line, 3);
    /* A capital means a capital. */
    assert_true(pretty_search(&pretty, "Two", false, &line));
    assert_int_equal(line, 1);
    assert_false(pretty_search(&pretty, "four", false, &line));
    assert_false(pretty_search(&pretty, "", false, &line));
}

static void it_is_painted_from_any_place(void **state)
{
    CLEANUP(pretty) struct pretty pretty;
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    struct canvas canvas;
    (void)state;
    pretty_init(&pretty, 80);
    pretty_text(&pretty, LOOK_TEXT, "zero\none\ntwo\nthree\x1b[2J", 21, 1, false);
    canvas_init(&canvas);
    canvas_resize(&canvas, 3, 8);
    pretty_paint(&pretty, &canvas, rect_make(0, 0, 3, 8), 2, 2);
    canvas_dump(&got, &canvas, false);
    assert_string_equal(got.buf, "wo\nhree^[[2\n\n");
    canvas_release(&canvas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_one_member_a_line),
        cmocka_unit_test(lists_of_things_are_not_squeezed),
        cmocka_unit_test(long_texts_are_blocks),
        cmocka_unit_test(plain_says_what_it_says),
        cmocka_unit_test(tracebacks_have_their_places_marked),
        cmocka_unit_test(raw_lines_are_cut_at_the_width_and_nowhere_else),
        cmocka_unit_test(search_goes_round),
        cmocka_unit_test(it_is_painted_from_any_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
