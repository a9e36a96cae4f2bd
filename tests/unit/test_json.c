/* Tests of reading JSON: what is accepted and refused, exactness, and comparison with cJSON. Tests of writing are in
 * test_json_write.c. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <cjson/cJSON.h>
#include <stdio.h>

/* The text is given to the parser in memory of exactly its size, so that ASan sees a byte read too many. */
struct doc {
    struct arena arena;
    char *text;
    const struct json *root;
    struct err err;
};

static size_t count_space(const char *text, size_t len)
{
    size_t count = 0;
    while (count < len && memchr(" \t\r\n", text[count], 4))
        count++;
    return count;
}

/* Returns json_check's result for the same text: every text parsed here, valid or broken, tests it too. */
static bool is_checked(const char *text, size_t len)
{
    size_t at = count_space(text, len);
    size_t took = json_check(text + at, len - at, JSON_DEPTH_MAX);
    return took && at + took + count_space(text + at + took, len - at - took) == len;
}

static struct doc parse_n(const char *text, size_t len, bool commented)
{
    struct doc doc = {ARENA_INIT, malloc(len ? len : 1), NULL, ERR_INIT};
    memcpy(doc.text, text, len);
    doc.root = (commented ? json_parse_commented : json_parse)(&doc.arena, doc.text, len, &doc.err);
    if (!commented)
        assert_int_equal(is_checked(doc.text, len), doc.root != NULL);
    return doc;
}

static struct doc parse(const char *text)
{
    return parse_n(text, strlen(text), false);
}

static void doc_cleanup(struct doc *doc)
{
    arena_release(&doc->arena);
    free(doc->text);
}

/* ---- reading ---- */

TEST(every_kind_of_value_is_parsed)
{
    CLEANUP(doc)
    struct doc doc = parse(" { \"a\" : [ 1 , -2.5e3, true,false , null ] ,\"b\":{},\"\":\"x\\ny\", \"c\":[] }\n");
    const struct json *root = doc.root;
    assert_non_null(root);
    assert_int_equal(root->type, JSON_OBJECT);
    assert_int_equal(root->count, 4);
    assert_null(root->key);
    const struct json *a = json_get(root, "a");
    assert_int_equal(a->count, 5);
    assert_int_equal(json_int(json_at(a, 0), -1), 1);
    assert_true(json_num(json_at(a, 1), 0) == -2500.0);
    assert_true(json_bool(json_at(a, 2), false));
    assert_false(json_bool(json_at(a, 3), true));
    assert_int_equal(json_at(a, 4)->type, JSON_NULL);
    assert_null(json_at(a, 5));
    assert_string_equal(json_str(json_get(root, ""), "?"), "x\ny");
    /* The position. */
    assert_int_equal(a->src_len, strlen("[ 1 , -2.5e3, true,false , null ]"));
    assert_memory_equal(a->src, "[ 1 , -2.5e3, true,false , null ]", a->src_len);
    assert_int_equal(json_at(a, 1)->src_len, 6);
    assert_int_equal(json_get(root, "")->src_len, 6);
    /* Source order. */
    const char *keys = "ab\0c";
    json_each (member, root)
        assert_int_equal(member->key[0], *keys++);
}

TEST(getters_take_anything)
{
    CLEANUP(doc) struct doc doc = parse("{\"a\":1,\"A\":2,\"a\":3,\"s\":\"t\",\"n\":null}");
    assert_int_equal(json_int(json_get(doc.root, "a"), 0), 3); /* the last of equal names */
    assert_int_equal(json_int(json_get(doc.root, "A"), 0), 2); /* and case counts */
    assert_null(json_get(doc.root, "b"));
    assert_null(json_get(NULL, "a"));
    assert_null(json_get(json_get(doc.root, "a"), "a"));
    assert_null(json_at(doc.root, 0));
    assert_null(json_at(NULL, 0));
    assert_string_equal(json_str(NULL, "d"), "d");
    assert_string_equal(json_str(json_get(doc.root, "n"), "d"), "d");
    assert_null(json_str(json_get(doc.root, "a"), NULL));
    assert_int_equal(json_int(json_get(doc.root, "s"), 5), 5);
    assert_true(json_num(json_get(doc.root, "s"), 5.5) == 5.5);
    assert_true(json_bool(json_get(doc.root, "n"), true));
    json_each (item, json_get(doc.root, "missing"))
        fail();
    assert_string_equal(json_type_name(JSON_NULL), "null");
    assert_string_equal(json_type_name(JSON_TRUE), "boolean");
    assert_string_equal(json_type_name(JSON_FALSE), "boolean");
    assert_string_equal(json_type_name(JSON_OBJECT), "object");
}

TEST(integers_are_exact)
{
    const int64_t no = -77;
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"9223372036854775808", -77},
        {"-9223372036854775809", -77},
        {"9007199254740993", 9007199254740993},
        {"9007199254740993.0", 9007199254740993},
        {"9007199254740993e0", 9007199254740993},
        {"90071992547409930E-1", 9007199254740993},
        {"3.0", 3},
        {"1e2", 100},
        {"1.5e1", 15},
        {"0.05e2", 5},
        {"100e-2", 1},
        {"0e99999999999999999999", 0},
        {"0.000", 0},
        {"1e18", 1000000000000000000},
        {"1e19", -77},
        {"1e99999999999999999999", -77},
        {"1e-99999999999999999999", -77},
        {"3.5", -77},
        {"1e-1", -77},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(doc) struct doc doc = parse(cases[i].text);
        if (json_int(doc.root, no) != cases[i].want)
            fail_msg("%s reads as %ld", cases[i].text, (long)json_int(doc.root, no));
    }
    CLEANUP(doc) struct doc huge = parse("1e999");
    assert_true(json_num(huge.root, 2) == 2);
}

TEST(strings_are_unescaped)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"\"\"", ""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u00e9\\u20AC\\ud83d\\ude00\"", "é€😀"},
        {"\"\\ud83d\"", "\xEF\xBF\xBD"},
        {"\"\\ude00x\"", "\xEF\xBF\xBDx"},
        {"\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD😀"},
        {"\"\\ud83d\\u0041\"", "\xEF\xBF\xBD"
                               "A"},
        {"\"\\ud83d\\n\"", "\xEF\xBF\xBD\n"},
        {"\"é€😀\x7F\"", "é€😀\x7F"},
        {"\"0123456789012345678901234567890123456789\\\\end\"", "0123456789012345678901234567890123456789\\end"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(doc) struct doc doc = parse(cases[i].text);
        assert_string_equal(json_str(doc.root, doc.err.text), cases[i].want);
        assert_int_equal(doc.root->len, strlen(cases[i].want));
    }
    /* A special character at every place of a block. */
    for (size_t at = 0; at < 40; at++) {
        char text[64], want[64];
        memset(text, 'x', sizeof(text));
        text[0] = '"';
        memcpy(text + 1 + at, "\\t\xC3\xA9", 4);
        text[45] = '"';
        memset(want, 'x', sizeof(want));
        memcpy(want + at, "\t\xC3\xA9", 3);
        CLEANUP(doc) struct doc doc = parse_n(text, 46, false);
        assert_non_null(doc.root);
        assert_int_equal(doc.root->len, 43);
        assert_memory_equal(doc.root->text, want, 43);
    }
}

TEST(malformed_texts_are_refused)
{
    static const char *const bad[] = {
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "True",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1.e3",
        "1e",
        "1e+",
        "0x10",
        "1 2",
        "[1,]",
        "[,1]",
        "[1",
        "[1 2]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\"}",
        "{\"a\":}",
        "{1:2}",
        "[1}",
        "{\"a\":1]",
        "]",
        "\"",
        "\"abc",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u\"",
        "\"a\nb\"",
        "\"a\tb\"",
        "\"\\u0000\"",
        "\"\x80\"",
        "\"\xC3\"",
        "\"\xC0\xAF\"",
        "\"\xED\xA0\x80\"",
        "\"\xF4\x90\x80\x80\"",
        "\"a\x01\"",
        "[1]x",
        "// c\n1",
        "\xEF\xBB\xBF[]",
        "'a'",
        "\"\\\n\"",
        "\"abcdefghijklmnop\x1F\"",
        "{\"a\":1 \"b\":2}",
        "{\"\\u0000\":1}",
        "[\"\\ud83d\\u0000\"]",
        "\f1",
        "1\v",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CLEANUP(doc) struct doc doc = parse(bad[i]);
        if (doc.root)
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(doc.err.text, " at byte "));
    }
    CLEANUP(doc) struct doc nul = parse_n("\"a\0b\"", 5, false);
    assert_null(nul.root);
    CLEANUP(doc) struct doc where = parse("[1, 2, x]");
    assert_string_equal(where.err.text, "expected a value at byte 8");
    CLEANUP(doc) struct doc none = parse("[1]");
    assert_string_equal(none.err.text, "");
    struct arena arena = ARENA_INIT;
    assert_null(json_parse(&arena, "[", 1, NULL));
    arena_release(&arena);
}

TEST(too_deep_texts_are_refused)
{
    char text[2 * (JSON_DEPTH_MAX + 1)];
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    CLEANUP(doc) struct doc fits = parse_n(text + 1, 2 * JSON_DEPTH_MAX, false);
    assert_non_null(fits.root);
    assert_int_equal(json_check(text + 1, 2 * JSON_DEPTH_MAX, JSON_DEPTH_MAX), 2 * JSON_DEPTH_MAX);
    CLEANUP(doc) struct doc deep = parse_n(text, sizeof(text), false);
    assert_null(deep.root);
    assert_int_equal(json_check(text, sizeof(text), JSON_DEPTH_MAX), 0);
    CLEANUP(strbuf) struct strbuf endless = STRBUF_INIT;
    for (int i = 0; i < 100000; i++)
        strbuf_addstr(&endless, "{\"a\":[");
    CLEANUP(doc) struct doc stack = parse(endless.buf);
    assert_null(stack.root);
    /* Depth is how deep, not how many. */
    strbuf_reset(&endless);
    strbuf_addch(&endless, '[');
    for (int i = 0; i < 1000; i++)
        strbuf_addstr(&endless, "[[]],");
    strbuf_addstr(&endless, "0]");
    CLEANUP(doc) struct doc flat = parse(endless.buf);
    assert_non_null(flat.root);
}

TEST(comments_are_accepted_on_request)
{
    const char *text = "\xEF\xBB\xBF// first\n{ // open\n  \"a//b\": 1, //\n  // more\n  \"c\": 2 //end\n}\n// last";
    CLEANUP(doc) struct doc doc = parse_n(text, strlen(text), true);
    assert_non_null(doc.root);
    assert_int_equal(json_int(json_get(doc.root, "a//b"), 0), 1);
    assert_int_equal(json_int(json_get(doc.root, "c"), 0), 2);
    text = "{\n// c\n\"a\": 1,\n\"b\": oops\n}";
    CLEANUP(doc) struct doc bad = parse_n(text, strlen(text), true);
    assert_null(bad.root);
    assert_int_equal(bad.err.line, 4);
    CLEANUP(doc) struct doc half = parse_n("/ 1", 3, true);
    assert_null(half.root);
    assert_int_equal(half.err.line, 1);
}

TEST(a_text_is_checked_without_values)
{
    static const struct {
        const char *text;
        size_t want;
    } cases[] = {
        {"{\"a\":[1,\"]}\\\"\"]} tail", 16},
        {"12,", 2},
        {" 12,", 0},
        {"true]", 4},
        {"\"a\\\\\" x", 5},
        {"[]", 2},
        {"null", 4},
        {"", 0},
        {"  ", 0},
        {"{", 0},
        {"[1", 0},
        {"\"abc", 0},
        {"\"a\\", 0},
        {"]", 0},
        {"[}", 0},
        {",", 0},
        {"x", 0},
        {"-", 0},
        {"\"a\nb\"", 0},
        {"\"é€ in a longer text, really\" ", 32},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t len = strlen(cases[i].text);
        char *exact = malloc(len ? len : 1);
        memcpy(exact, cases[i].text, len);
        size_t got = json_check(exact, len, JSON_DEPTH_MAX);
        free(exact);
        if (got != cases[i].want)
            fail_msg("%s: %zu", cases[i].text, got);
    }
}

/* ---- against cJSON ---- */

static uint32_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % limit;
}

static void add_space(struct strbuf *out)
{
    static const char spaces[] = " \n\t\r";
    while (random_below(6) == 0)
        strbuf_addch(out, spaces[random_below(4)]);
}

static void generate_string(struct strbuf *out)
{
    static const char *const pieces[] = {"a",
                                         "key",
                                         "\\n",
                                         "\\\"",
                                         "\\\\",
                                         "é",
                                         "中",
                                         "\\u00e9",
                                         "😀",
                                         "\\u0001",
                                         "\\ud83d\\ude00",
                                         "\x7F",
                                         "\\/",
                                         " ",
                                         "a rather long run of plain characters ",
                                         "0123456",
                                         "\\ufffd"};
    strbuf_addch(out, '"');
    for (uint32_t n = random_below(6); n; n--)
        strbuf_addstr(out, pieces[random_below(COUNT_OF(pieces))]);
    strbuf_addch(out, '"');
}

static void generate(struct strbuf *out, int depth)
{
    static const char *const scalars[] = {"null",
                                          "true",
                                          "false",
                                          "0",
                                          "-0",
                                          "17",
                                          "-123456",
                                          "0.5",
                                          "1e10",
                                          "2.5E-3",
                                          "9007199254740993",
                                          "1.7976931348623157e308",
                                          "-1.25e+2"};
    uint32_t kind = random_below(depth > 5 ? 2 : 4);
    add_space(out);
    if (kind == 0) {
        strbuf_addstr(out, scalars[random_below(COUNT_OF(scalars))]);
    } else if (kind == 1) {
        generate_string(out);
    } else {
        bool object = kind == 2;
        strbuf_addch(out, object ? '{' : '[');
        uint32_t count = random_below(5);
        for (uint32_t i = 0; i < count; i++) {
            if (i)
                strbuf_addch(out, ',');
            if (object) {
                add_space(out);
                generate_string(out);
                add_space(out);
                strbuf_addch(out, ':');
            }
            generate(out, depth + 1);
        }
        add_space(out);
        strbuf_addch(out, object ? '}' : ']');
    }
    add_space(out);
}

static bool same(const struct json *ours, const cJSON *theirs)
{
    if ((ours->key != NULL) != (theirs->string != NULL) || (ours->key && strcmp(ours->key, theirs->string) != 0))
        return false;
    switch (ours->type) {
    case JSON_NULL:
        return cJSON_IsNull(theirs);
    case JSON_FALSE:
        return cJSON_IsFalse(theirs);
    case JSON_TRUE:
        return cJSON_IsTrue(theirs);
    case JSON_NUMBER:
        return cJSON_IsNumber(theirs) && theirs->valuedouble == json_num(ours, theirs->valuedouble);
    case JSON_STRING:
        return cJSON_IsString(theirs) && strcmp(ours->text, theirs->valuestring) == 0 &&
               ours->len == strlen(ours->text);
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    if (ours->type == JSON_ARRAY ? !cJSON_IsArray(theirs) : !cJSON_IsObject(theirs))
        return false;
    const cJSON *item = theirs->child;
    uint32_t count = 0;
    json_each (member, ours) {
        if (!item || !same(member, item))
            return false;
        item = item->next;
        count++;
    }
    return !item && count == ours->count;
}

static void assert_same(const struct json *ours, const char *text, size_t len)
{
    cJSON *theirs = cJSON_ParseWithLength(text, len);
    bool equal = theirs && same(ours, theirs);
    cJSON_Delete(theirs);
    if (!equal)
        fail_msg("cJSON reads it differently: %.*s", (int)len, text);
}

TEST(same_as_cjson)
{
    for (seed = 1; seed < 3000; seed += 1) {
        uint32_t start = seed;
        struct strbuf text = STRBUF_INIT;
        generate(&text, 0);
        struct doc doc = parse_n(text.buf, text.len, false);
        if (!doc.root)
            fail_msg("%s: %s", doc.err.text, text.buf);
        assert_same(doc.root, text.buf, text.len);
        assert_int_equal(json_check(doc.root->src, doc.root->src_len, JSON_DEPTH_MAX), doc.root->src_len);
        /* In every style it is still the same value. */
        static const unsigned styles[] = {JSON_COMPACT, JSON_PRETTY, JSON_SPACED | JSON_ASCII, JSON_ASCII};
        for (size_t i = 0; i < COUNT_OF(styles); i++) {
            struct strbuf out = STRBUF_INIT, again = STRBUF_INIT;
            json_write(&out, doc.root, styles[i]);
            if (styles[i] != JSON_PYTHON) /* which collapses equal names */
                assert_same(doc.root, out.buf, out.len);
            struct doc back = parse_n(out.buf, out.len, false);
            assert_non_null(back.root);
            json_write(&again, back.root, styles[i]);
            assert_string_equal(again.buf, out.buf);
            doc_cleanup(&back);
            strbuf_release(&again);
            strbuf_release(&out);
        }
        doc_cleanup(&doc);
        strbuf_release(&text);
        seed = start;
    }
}

/* Broken texts that we accept, cJSON accepts too and reads the same way; it is more tolerant. */
TEST(broken_texts)
{
    static const char noise[] = "{}[]\",:\\u0e.-+ \x80\xC3\xED\xF0tn1\x01";
    size_t accepted = 0, refused = 0;
    for (uint32_t round = 1; round < 20000; round++) {
        seed = round;
        struct strbuf text = STRBUF_INIT;
        generate(&text, 2);
        for (uint32_t n = 1 + random_below(2); n && text.len; n--) {
            uint32_t at = random_below((uint32_t)text.len);
            if (random_below(2))
                text.buf[at] = noise[random_below(sizeof(noise) - 1)];
            else
                memmove(text.buf + at, text.buf + at + 1, text.len - at), text.len--;
        }
        struct doc doc = parse_n(text.buf, text.len, false);
        if (doc.root) {
            accepted++;
            assert_int_equal(json_check(doc.root->src, doc.root->src_len, JSON_DEPTH_MAX), doc.root->src_len);
            if (!strstr(text.buf, "\\ud")) /* lone surrogates: cJSON refuses, we read U+FFFD */
                assert_same(doc.root, text.buf, text.len);
        } else {
            refused++;
            assert_true(strlen(doc.err.text) > 0);
        }
        (void)json_check(text.buf, text.len, JSON_DEPTH_MAX);
        doc_cleanup(&doc);
        strbuf_release(&text);
    }
    assert_true(accepted > 500);
    assert_true(refused > 500);
}
