/* Tests of writing JSON: styles, Python's format of numbers, strings and the builder. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "support/test.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>

/* The text is given to the parser in memory of exactly its size, so that ASan sees a byte read too many. */
struct doc {
    struct arena arena;
    char *text;
    const struct json *root;
    struct err err;
};

static struct doc parse_n(const char *text, size_t len)
{
    struct doc doc = {ARENA_INIT, malloc(len ? len : 1), NULL, ERR_INIT};
    memcpy(doc.text, text, len);
    doc.root = json_parse(&doc.arena, doc.text, len, &doc.err);
    return doc;
}

static struct doc parse(const char *text)
{
    return parse_n(text, strlen(text));
}

static void doc_cleanup(struct doc *doc)
{
    arena_release(&doc->arena);
    free(doc->text);
}

static void assert_writes(const char *text, unsigned style, const char *want)
{
    CLEANUP(doc) struct doc doc = parse(text);
    if (!doc.root)
        fail_msg("%s: %s", text, doc.err.text);
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    json_write(&out, doc.root, style);
    assert_string_equal(out.buf, want);
}

TEST(values_are_written_in_every_style)
{
    const char *text = "{\"b\":[1,2.50,{}],\"a\":{\"x\":\"é\\u0001\"},\"e\":[]}";
    assert_writes(text, JSON_COMPACT, "{\"b\":[1,2.50,{}],\"a\":{\"x\":\"é\\u0001\"},\"e\":[]}");
    assert_writes(text, JSON_SPACED, "{\"b\": [1, 2.50, {}], \"a\": {\"x\": \"é\\u0001\"}, \"e\": []}");
    assert_writes(text, JSON_SORTED, "{\"a\":{\"x\":\"é\\u0001\"},\"b\":[1,2.50,{}],\"e\":[]}");
    assert_writes(text, JSON_ASCII, "{\"b\":[1,2.50,{}],\"a\":{\"x\":\"\\u00e9\\u0001\"},\"e\":[]}");
    assert_writes(text, JSON_PYTHON, "{\"b\": [1, 2.5, {}], \"a\": {\"x\": \"\\u00e9\\u0001\"}, \"e\": []}");
    assert_writes(text, JSON_CANONICAL, "{\"a\": {\"x\": \"\\u00e9\\u0001\"}, \"b\": [1, 2.5, {}], \"e\": []}");
    assert_writes(text, JSON_PRETTY,
                  "{\n  \"b\": [\n    1,\n    2.50,\n    {}\n  ],\n  \"a\": {\n    \"x\": \"é\\u0001\"\n  },\n"
                  "  \"e\": []\n}");
}

TEST(sorting_and_equal_names)
{
    /* By code point: U+FFFF before U+10000, which UTF-16 would have the other way round. */
    assert_writes("{\"\xF0\x90\x80\x80\":1,\"\xEF\xBF\xBF\":2,\"b\":3,\"B\":4,\"ab\":5,\"a\":6,\"\":7}", JSON_SORTED,
                  "{\"\":7,\"B\":4,\"a\":6,\"ab\":5,\"b\":3,\"\xEF\xBF\xBF\":2,\"\xF0\x90\x80\x80\":1}");
    assert_writes("{\"a\":1,\"b\":2,\"a\":3,\"a\":4}", JSON_CANONICAL, "{\"a\": 4, \"b\": 2}");
    assert_writes("{\"b\":1,\"a\":2,\"b\":3}", JSON_PYTHON, "{\"b\": 3, \"a\": 2}");
    assert_writes("{\"b\":1,\"a\":2,\"b\":3}", JSON_COMPACT, "{\"b\":1,\"a\":2,\"b\":3}");
    /* More members than fit the buffer on the stack. */
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf want = STRBUF_INIT;
    for (int i = 0; i < 100; i++) {
        strbuf_addf(&text, "%s\"k%03d\":%d", i ? "," : "{", 99 - i, 99 - i);
        strbuf_addf(&want, "%s\"k%03d\":%d", i ? "," : "{", i, i);
    }
    strbuf_addch(&text, '}');
    strbuf_addch(&want, '}');
    assert_writes(text.buf, JSON_SORTED, want.buf);
}

/* What python3 prints for json.dumps(json.loads(text)). */
TEST(python_numbers)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"0e5", "0.0"},
        {"1E5", "100000.0"},
        {"1.0", "1.0"},
        {"1.50", "1.5"},
        {"1e22", "1e+22"},
        {"1e16", "1e+16"},
        {"1e15", "1000000000000000.0"},
        {"9999999999999998.0", "9999999999999998.0"},
        {"12345678901234567.0", "1.2345678901234568e+16"},
        {"1e-7", "1e-07"},
        {"0.0001", "0.0001"},
        {"0.00012", "0.00012"},
        {"0.00001", "1e-05"},
        {"1.5e-10", "1.5e-10"},
        {"1e100", "1e+100"},
        {"0.1", "0.1"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"2.675", "2.675"},
        {"5e-324", "5e-324"},
        {"4.9406564584124654e-324", "5e-324"},
        {"2.2250738585072014e-308", "2.2250738585072014e-308"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"5.684341886080802e-14", "5.684341886080802e-14"}, /* 2**-44: the nearest decimal of 16 digits misses */
        {"9007199254740993", "9007199254740993"},
        {"9007199254740993.0", "9007199254740992.0"},
        {"123456789012345678901234567890", "123456789012345678901234567890"},
        {"1e999", "Infinity"},
        {"-1e999", "-Infinity"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_writes(cases[i].text, JSON_PYTHON, cases[i].want);
        assert_writes(cases[i].text, JSON_COMPACT, cases[i].text);
        assert_writes(cases[i].text, JSON_PRETTY, cases[i].text);
    }
}

TEST(write_num)
{
    static const struct {
        double number;
        const char *want;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-17, "-17"},
        {0.1, "0.1"},
        {1.5, "1.5"},
        {1e15, "1000000000000000"},
        {1e16, "1e+16"},
        {1e-5, "1e-05"},
        {3.14, "3.14"},
        {1.0 / 3, "0.3333333333333333"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        json_write_num(&out, cases[i].number);
        assert_string_equal(out.buf, cases[i].want);
    }
    /* Every bit pattern reads back as the same number. */
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 50000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double number;
        memcpy(&number, &bits, sizeof(number));
        if (!isfinite(number))
            continue;
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        json_write_num(&out, number);
        if (strtod(out.buf, NULL) != number)
            fail_msg("%.17g is written as %s", number, out.buf);
    }
}

TEST(locale_does_not_matter)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && !set; i++)
        set = setlocale(LC_NUMERIC, names[i]);
    /* Where no such locale is installed this still checks the plain case. */
    CLEANUP(doc) struct doc doc = parse("1.5");
    assert_true(json_num(doc.root, 0) == 1.5);
    assert_writes("2.50", JSON_PYTHON, "2.5");
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    json_write_num(&out, 0.25);
    assert_string_equal(out.buf, "0.25");
    setlocale(LC_NUMERIC, "C");
}

static void assert_string_writes(const char *text, size_t len, unsigned style, const char *want)
{
    char *exact = malloc(len ? len : 1);
    memcpy(exact, text, len);
    struct strbuf out = STRBUF_INIT;
    json_write_str(&out, exact, len, style);
    free(exact);
    assert_string_equal(out.buf, want);
    strbuf_release(&out);
}

TEST(write_str)
{
    assert_string_writes("", 0, 0, "\"\"");
    assert_string_writes("a\"b\\c/\n\r\t\b\f\x01\x1F\x7F", 14, 0, "\"a\\\"b\\\\c/\\n\\r\\t\\b\\f\\u0001\\u001f\x7F\"");
    assert_string_writes("\x7F~", 2, JSON_ASCII, "\"\\u007f~\"");
    assert_string_writes("é😀\xEF\xBF\xBF", 9, JSON_ASCII, "\"\\u00e9\\ud83d\\ude00\\uffff\"");
    assert_string_writes("é😀", 6, 0, "\"é😀\"");
    assert_string_writes("a\0b", 3, 0,
                         "\"a\xEF\xBF\xBD"
                         "b\"");
    assert_string_writes("a\0b", 3, JSON_ASCII, "\"a\\ufffdb\"");
    assert_string_writes("\xFFx\xE2\x82", 4, 0, "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
    assert_string_writes("\xEF\xBF\xBD!", 4, 0, "\"\xEF\xBF\xBD!\"");
    /* Any byte at any place of a block comes back. */
    for (size_t at = 0; at < 36; at++)
        for (int byte = 1; byte < 0x80; byte++)
            for (unsigned style = 0; style <= JSON_ASCII; style += JSON_ASCII) {
                char text[37] = "abcdefghijklmnopqrstuvwxyz0123456789";
                text[at] = (char)byte;
                struct strbuf out = STRBUF_INIT;
                json_write_str(&out, text, 36, style);
                struct doc doc = parse_n(out.buf, out.len);
                if (!doc.root || strcmp(doc.root->text, text) != 0)
                    fail_msg("byte %d at %zu: %s", byte, at, out.buf);
                doc_cleanup(&doc);
                strbuf_release(&out);
            }
}

static void assert_printable(const char *text, const char *want)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    strbuf_addstr(&out, "\x7f|"); /* earlier text is ignored */
    strbuf_addstr(&out, text);
    json_make_printable(&out, 2);
    assert_string_equal(out.buf + 2, want);
    assert_memory_equal(out.buf, "\x7f|", 2);
}

TEST(make_printable)
{
    assert_printable("", "");
    assert_printable("{\"a\":[1,\"plain\"]}", "{\"a\":[1,\"plain\"]}");
    assert_printable("\"0123456\x7f\"", "\"0123456\\u007f\"");
    assert_printable("\"\xc2\x9b"
                     "31m\xc2\x9d;x\xc2\x9c\"",
                     "\"\\u009b31m\\u009d;x\\u009c\"");
    assert_printable("\"\xe2\x80\xae \xe2\x81\xa6 \xe2\x80\xa8\"", "\"\\u202e \\u2066 \\u2028\"");
    assert_printable("\"\xe2\xa0\x80 \xef\xbf\xbc\"", "\"\\u2800 \\ufffc\"");
    assert_printable("\"\xe2\x80\x8b\xef\xbb\xbf\xc2\xad\"", "\"\\u200b\\ufeff\\u00ad\"");
    assert_printable("\"\xf3\xa0\x81\x81\"", "\"\\udb40\\udc41\"");
    assert_printable("\"\xe2\x9a\xa0\xef\xb8\x8f\"", "\"\xe2\x9a\xa0\\ufe0f\"");
    /* Letters, wide characters, emoji and a U+FFFD that is meant stay. */
    assert_printable("\"\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x94\x91\xef\xbf\xbd\"",
                     "\"\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x94\x91\xef\xbf\xbd\"");
    /* Malformed bytes: an 8-bit C1 control is one. */
    assert_printable("\"\x9b\xff\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Every character that utf8_sanitize spells out is escaped, and reads back unchanged. */
TEST(printable_text_reads_back)
{
    for (uint32_t cp = 0x20; cp <= 0x10FFFF; cp++) {
        if (cp >= 0xD800 && cp < 0xE000)
            continue;
        char bytes[4], spelled[16];
        size_t len = utf8_encode(cp, bytes), read_len;
        assert_int_equal(json_is_printable(bytes, len), !utf8_spell(cp, spelled));
        if (cp >= 0x20000 && cp < 0xE0000)
            continue; /* nothing but letters: the look above is enough */
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
        json_write_str(&text, bytes, len, JSON_COMPACT);
        CLEANUP(strbuf) struct strbuf plain = STRBUF_INIT;
        strbuf_add(&plain, text.buf, text.len);
        json_make_printable(&text, 0);
        if (utf8_spell(cp, spelled))
            for (size_t i = 0; i < text.len; i++)
                assert_in_range(text.buf[i], 0x20, 0x7E);
        else
            assert_string_equal(text.buf, plain.buf);
        const struct json *value = json_parse(&arena, text.buf, text.len, NULL);
        assert_non_null(value);
        assert_int_equal(value->len, len);
        assert_int_equal(utf8_decode(value->text, value->len, &read_len), cp);
    }
}

TEST(the_writer_makes_valid_json)
{
    CLEANUP(doc) struct doc doc = parse("{ \"in\" : [1.0, \"x\"] }");
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct json_writer w = json_begin(&out);
    json_open(&w, NULL, '{');
    json_add_str(&w, "s", "a\"b");
    json_add_str(&w, "none", NULL);
    json_add_strn(&w, "part", "abcdef", 3);
    json_add_int(&w, "min", INT64_MIN);
    json_add_num(&w, "num", 0.5);
    json_open(&w, "list", '[');
    json_add_int(&w, NULL, 1);
    json_add_bool(&w, NULL, true);
    json_open(&w, NULL, '[');
    json_close(&w, ']');
    json_open(&w, NULL, '{');
    json_close(&w, '}');
    json_add_null(&w, NULL);
    json_close(&w, ']');
    json_add_bool(&w, "no", false);
    json_add_raw(&w, "raw", "{\"r\":1}");
    json_add_value(&w, "value", doc.root);
    json_add_value(&w, "missing", json_get(doc.root, "missing"));
    json_close(&w, '}');
    assert_string_equal(out.buf,
                        "{\"s\":\"a\\\"b\",\"none\":null,\"part\":\"abc\",\"min\":-9223372036854775808,\"num\":0.5,"
                        "\"list\":[1,true,[],{},null],\"no\":false,\"raw\":{\"r\":1},"
                        "\"value\":{\"in\":[1.0,\"x\"]},\"missing\":null}");
}
