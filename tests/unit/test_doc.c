/* Tests of documents: types, lines, duplicates, and input that cJSON alone would accept or lose. */

#include "base/doc.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <math.h>
#include <string.h>

static struct doc *parse(const char *text)
{
    struct err err = ERR_INIT;
    struct doc *doc = doc_parse(text, strlen(text), &err);
    if (!doc)
        fail_msg("%s: %s", text, err.text);
    return doc;
}

TEST(values_have_types_and_lines)
{
    CLEANUP(doc)
    struct doc *doc = parse("// engines\n{\n \"list\": [1.5, \"a\\n\\\"b\",\n true, false, null,\n\n {}],\n"
                            " \"url\": \"http://x\" // not a comment\n}\n");
    assert_int_equal(doc_type(doc), DOC_OBJECT);
    assert_int_equal(doc_line(doc), 2);
    assert_int_equal(doc_count(doc), 2);
    const struct doc *list = doc_get(doc, "list");
    static const struct {
        enum doc_type type;
        long line;
    } expected[] = {{DOC_NUMBER, 3}, {DOC_TEXT, 3}, {DOC_TRUE, 4}, {DOC_FALSE, 4}, {DOC_NULL, 4}, {DOC_OBJECT, 6}};
    size_t i = 0;
    doc_each (item, list) {
        assert_int_equal(doc_type(item), expected[i].type);
        assert_int_equal(doc_line(item), expected[i++].line);
        assert_null(doc_key(item));
    }
    assert_int_equal(i, COUNT_OF(expected));
    assert_true(doc_number(doc_first(list)) == 1.5);
    assert_true(isnan(doc_number(list)));
    assert_string_equal(doc_text(doc_next(doc_first(list))), "a\n\"b");
    assert_string_equal(doc_text(doc_get(doc, "url")), "http://x");
    assert_int_equal(doc_line(doc_get(doc, "url")), 7);
}

TEST(keys_are_case_sensitive_and_the_last_duplicate_counts)
{
    CLEANUP(doc) struct doc *doc = parse("{\"a\": 1, \"A\": 2, \"a\": 3, \"aa\": 4}");
    assert_true(doc_number(doc_get(doc, "a")) == 3);
    assert_true(doc_number(doc_get(doc, "A")) == 2);
    assert_null(doc_get(doc, "AA"));
    assert_null(doc_get(NULL, "a"));
    assert_null(doc_get(doc_get(doc, "a"), "a"));
    assert_int_equal(doc_count(doc), 4);
    assert_null(doc_text(NULL));
}

TEST(lax_json_is_refused_with_its_line)
{
    static const char *const bad[] = {
        "",
        "{\n\"a\": 01}",
        "{\n\"a\": \"\t\"}",
        "{\n\"a\": \"\\u0000\"}",
        "{\n\"a\": \"\\ud800\"}",
        "{\n}} ",
        "{\n\"a\": \"\xff\"}",
        "{\n\"a\": 1,}",
        "{\n\"a\": [1 2]}",
        "{\n\"a\": 'x'}",
        "{\n\"a\": 1 /* x */}",
        "{\n\"a\": tRue}",
        "{\n\"a\": \"\\ud800\\u0041\"}",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct err err = ERR_INIT;
        if (doc_parse(bad[i], strlen(bad[i]), &err))
            fail_msg("%s is taken", bad[i]);
        if (!*err.text || (*bad[i] && err.line != 2))
            fail_msg("%s: line %ld: %s", bad[i], err.line, err.text);
    }
}

TEST(depth_is_bounded)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < 100000; i++)
        strbuf_addch(&text, '[');
    struct err err = ERR_INIT;
    assert_null(doc_parse(text.buf, text.len, &err));
    assert_non_null(strstr(err.text, "deep"));
    text.len = JSON_DEPTH_MAX;
    for (int i = 0; i < JSON_DEPTH_MAX; i++)
        strbuf_addch(&text, ']');
    CLEANUP(doc) struct doc *doc = doc_parse(text.buf, text.len, &err);
    assert_non_null(doc);
}

TEST(whole_numbers_keep_their_digits)
{
    CLEANUP(doc) struct doc *doc = parse("[9007199254740993, 3.0, 1e2, 1.5, \"7\", 99999999999999999999]");
    static const int64_t expected[] = {9007199254740993, 3, 100, -1, -1, -1};
    size_t i = 0;
    doc_each (item, doc)
        assert_int_equal(doc_int(item, -1), expected[i++]);
    assert_int_equal(doc_int(NULL, -1), -1);
    CLEANUP(doc) struct doc *own = doc_new();
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct doc *list = doc_add_list(own, "list");
    doc_add_int(list, NULL, INT64_MIN);
    doc_add_int(list, NULL, 9007199254740993);
    doc_add_text(own, "t\"", "a\n\"b\x7f\xff");
    doc_add_text(own, "none", NULL);
    doc_add_bool(doc_add_object(own, "o"), "yes", true);
    doc_add_json(own, "raw", "[1.50]");
    doc_write(own, &out);
    assert_string_equal(out.buf,
                        "{\"list\":[-9223372036854775808,9007199254740993],\"t\\\"\":\"a\\n\\\"b\\u007f\uFFFD\","
                        "\"none\":null,\"o\":{\"yes\":true},\"raw\":[1.50]}");
}

/* Numbers that no double holds, halves of surrogate pairs and 70 digits: cJSON does not see them. */
TEST(unknown_members_are_kept_as_they_are)
{
    static const char text[] =
        "{\"a\": 1, \"x\": {\"n\": [99999999999999999999, 2.50],\n \"b\": \"\\ud800\"}, \"b\": [2],\n"
        "\"y\": 1234567890123456789012345678901234567890123456789012345678901234567890}";
    static const char *const known[] = {"a", "b", NULL};
    struct err err = ERR_INIT;
    CLEANUP(doc) struct doc *doc = doc_parse_known(text, sizeof(text) - 1, known, &err), *copy = doc_new();
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    assert_non_null(doc);
    assert_int_equal(doc_int(doc_get(doc, "a"), 0), 1);
    assert_int_equal(doc_line(doc_get(doc, "b")), 2);
    doc_each (member, doc)
        if (doc_type(member) == DOC_KEPT)
            doc_add_copy(copy, member);
    doc_write(copy, &out);
    assert_string_equal(out.buf, "{\"x\":{\"n\":[99999999999999999999,2.50],\"b\":\"\uFFFD\"},"
                                 "\"y\":1234567890123456789012345678901234567890123456789012345678901234567890}");
    assert_null(doc_parse_known("{\"a\": 1} // x", 13, known, &err));
}
