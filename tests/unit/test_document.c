/* Tests of documents for reading: JSON marked by role, plain text, tracebacks, search and copying. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "screen/document.h"
#include "support/canvas_dump.h"
#include "support/test.h"
#include <string.h>

static void assert_document(const struct document *pretty, const char *want)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    document_write(pretty, &got);
    assert_string_equal(got.buf, want);
}

static void assert_json(const char *text, int width, bool plain, const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(document) struct document pretty;
    document_init(&pretty, width);
    const struct json *value = json_parse(&arena, text, strlen(text), NULL);
    assert_non_null(value);
    (plain ? document_plain : document_json)(&pretty, value, 0);
    assert_document(&pretty, want);
}

TEST(json_is_one_member_a_line)
{
    assert_json("{\"a\":1,\"b\":{\"c\":[1,2,\"x\"],\"d\":{}},\"e\":[]}", 80, false,
                "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [1, 2, \"x\"],\n    \"d\": {}\n  },\n  \"e\": []\n}\n");
    assert_json("9007199254740993", 80, false, "9007199254740993\n");
    assert_json("\"a\\u001bb\"", 80, false, "\"a\\u001bb\"\n");
}

TEST(lists_of_objects_have_one_row_per_member)
{
    assert_json("[{\"a\":1},2]", 80, false, "[\n  {\n    \"a\": 1\n  },\n  2\n]\n");
}

TEST(long_texts_are_blocks)
{
    assert_json("{\"t\":\"one\\ntwo\\n\",\"n\":null}", 80, false,
                "{\n  \"t\": (8 characters of text),\n    | one\n    | two\n  \"n\": null\n}\n");
    /* Words are kept whole where the document has a width. */
    assert_json("{\"t\":\"aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj kkkk llll mmmm nnnn oooo\"}", 40, false,
                "{\n  \"t\": (74 characters of text)\n    | aaaa bbbb cccc dddd eeee ffff gggg\n"
                "    | hhhh iiii jjjj kkkk llll mmmm nnnn\n    | oooo\n}\n");
}

TEST(plain_form_of_json)
{
    assert_json("{\"path\":\"a.c\",\"size\":3,\"entries\":[\"one\",\"two\"],\"note\":\"x\\ny\"}", 80, true,
                "path: a.c\nsize: 3\nentries:\n  one\n  two\nnote:\n  x\n  y\n");
    assert_json("[{\"a\":1},{\"a\":2}]", 80, true, "a: 1\n-\na: 2\n");
}

static enum look look_of(const struct document *pretty, size_t line)
{
    const struct document_line *at = &pretty->lines[line];
    return (enum look)pretty->runs[at->run + at->count - 1].look;
}

TEST(tracebacks_have_their_places_marked)
{
    static const char text[] = "before\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\n"
                               "ValueError: no\nafter\n";
    CLEANUP(document) struct document pretty;
    document_init(&pretty, 80);
    document_text(&pretty, LOOK_TEXT, text, sizeof(text) - 1, 0, false);
    assert_int_equal(pretty.count, 6);
    static const enum look want[] = {LOOK_TEXT, LOOK_ERROR, LOOK_STRONG, LOOK_TEXT, LOOK_ERROR, LOOK_TEXT};
    for (size_t i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(look_of(&pretty, i), want[i]);
}

TEST(raw_lines_are_cut_at_the_width_and_nowhere_else)
{
    CLEANUP(document) struct document pretty;
    document_init(&pretty, 20);
    document_raw(&pretty, "0123456789012345678901234567890", 31);
    document_raw(&pretty, "", 0);
    document_raw(&pretty, "日本語日本語日本語日本語", strlen("日本語日本語日本語日本語"));
    assert_document(&pretty, "01234567890123456789\n01234567890\n\n日本語日本語日本語日\n本語\n");
}

TEST(search_goes_round)
{
    CLEANUP(document) struct document pretty;
    document_init(&pretty, 80);
    document_text(&pretty, LOOK_TEXT, "one\nTwo\nthree\ntwo", 17, 2, false);
    size_t line = 0;
    assert_true(document_search(&pretty, "two", false, &line));
    assert_int_equal(line, 1);
    assert_true(document_search(&pretty, "two", false, &line));
    assert_int_equal(line, 3);
    assert_true(document_search(&pretty, "two", false, &line));
    assert_int_equal(line, 1);
    assert_true(document_search(&pretty, "two", true, &line));
    assert_int_equal(line, 3);
    /* A capital means a capital. */
    assert_true(document_search(&pretty, "Two", false, &line));
    assert_int_equal(line, 1);
    assert_false(document_search(&pretty, "four", false, &line));
    assert_false(document_search(&pretty, "", false, &line));
}

TEST(it_is_painted_from_any_place)
{
    CLEANUP(document) struct document pretty;
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    struct canvas canvas;
    document_init(&pretty, 80);
    document_text(&pretty, LOOK_TEXT, "zero\none\ntwo\nthree\x1b[2J", 21, 1, false);
    canvas_init(&canvas);
    canvas_resize(&canvas, 3, 8);
    document_paint(&pretty, &canvas, rect_make(0, 0, 3, 8), 2, 2);
    canvas_dump(&got, &canvas, false);
    assert_string_equal(got.buf, "wo\nhree^[[2\n\n");
    canvas_release(&canvas);
}

/* Checks how a call is shown in this many columns. */
static void assert_fold(const char *text, int width, bool ascii, const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(document) struct document readable;
    CLEANUP(document) struct document rows;
    struct canvas canvas = {.ascii = ascii};
    const struct json *value = json_parse(&arena, text, strlen(text), NULL);
    assert_non_null(value);
    document_init(&readable, 0);
    document_init(&rows, width);
    document_json(&readable, value, 0);
    document_fold(&rows, &readable, &canvas);
    assert_document(&rows, want);
    for (size_t i = 0; i < rows.count; i++) {
        int columns = 0;
        for (uint32_t k = 0; k < rows.lines[i].count; k++) {
            const struct document_run *run = &rows.runs[rows.lines[i].run + k];
            columns += canvas_columns(&canvas, rows.text.buf + run->at, run->len);
        }
        assert_in_range(columns, 0, width);
    }
}

TEST(wrapped_row_keeps_its_gutter)
{
    assert_fold(
        "{\"a\":\"x\\n0123456789012345678901234567\\n}\"}", 30, false,
        "{\n  \"a\": (32 characters of text)\n    | x\n    | 012345678901234567890123\n    |…4567\n    | }\n}\n");
    assert_fold("{\"a\":\"0123456789012345678901234567\"}", 30, false,
                "{\n  \"a\": \"0123456789012345678901\n  … 234567\"\n}\n");
    assert_fold("[\"a\\nb\"]", 30, true, "[\n  (3 characters of text)\n    | a\n    | b\n]\n");
    assert_fold("[\"a\\n0123456789012345678901234567\"]", 30, true,
                "[\n  (30 characters of text)\n    | a\n    | 012345678901234567890123\n    |~4567\n]\n");
}

TEST(blanks_that_hide_something_are_counted)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addstr(&text, "\"ls\\n ");
    for (int i = 0; i < 1899; i++)
        strbuf_addch(&text, ' ');
    strbuf_addstr(&text, "}\\n\\t\\t\\t\\t\\tx\\n");
    for (int i = 0; i < 17; i++)
        strbuf_addstr(&text, "\\u3000");
    strbuf_addstr(&text, "y\\n\\n \\n\\n\\nz\"");
    assert_fold(
        text.buf, 60, false,
        "(1,937 characters of text)\n  | ls\n  |  ┄ 1,900 blanks ┄ }\n  |  ┄ 5 blanks ┄ x\n  |  ┄ 17 blanks ┄ y\n"
        "  |  ┄ 4 empty lines ┄ \n  | z\n");
    /* Ordinary characters of text stay unchanged. */
    assert_fold("\"a\\n\\n\\n\\n\\t\\tb    c\"", 60, true,
                "(13 characters of text)\n  | a\n  | \n  | \n  | \n  |                 b    c\n");
}

TEST(no_row_exceeds_the_given_width)
{
    /* A tab is up to eight columns, a foreign character in ASCII is eight, a mark that begins a row is spelled. */
    assert_fold("\"\\n0\\t1\\t2\\t3\"", 24, false,
                "(8 characters of text)\n  | \n  | 0       1       2\n  |…       3\n");
    assert_fold("\"\\n\u00e9\u00e9\u00e9\"", 24, true, "(4 characters of text)\n  | \n  | \u00e9\u00e9\n  |~\u00e9\n");
    assert_fold("\"\\n日本語日本語日本語日本語\"", 24, false,
                "(13 characters of text)\n  | \n  | 日本語日本語日本語日\n  |…本語\n");
    /* However deep it is. */
    assert_fold(
        "[[[[[[[[[[[[\"0123456789012345\"]]]]]]]]]]]]", 24, false,
        "[\n  [\n    [\n      [\n        [\n          [\n            [\n            [\n            [\n            [\n"
        "            [\n            [\"0123456789\n            … 012345\"]\n            ]\n            ]\n            "
        "]\n"
        "            ]\n            ]\n          ]\n        ]\n      ]\n    ]\n  ]\n]\n");
}

TEST(long_text_is_cut_and_marked)
{
    struct document pretty;
    document_init(&pretty, 40);
    pretty.most = 5;
    document_text(&pretty, LOOK_TEXT, "one\n\u00e9\u00e9three\n", 13, 0, false);
    assert_document(&pretty, "one\n(9 bytes more in the recording)\n");
    document_reset(&pretty, 40);
    pretty.most = 5;
    document_text(&pretty, LOOK_TEXT, "12345 and more", 14, 0, true);
    document_raw(&pretty, "12345", 5);
    assert_document(&pretty, "12345\n(9 bytes more in the recording)\n12345\n");
    document_release(&pretty);
}
