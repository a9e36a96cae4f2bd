/* Tests of decoding against a second, slower implementation of the standard; of widths; and that nothing harmful passes
 * the sanitizer. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "support/test.h"
#include <stdio.h>

TEST(every_code_point_round_trips)
{
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char bytes[4];
        size_t len = utf8_encode(cp, bytes);
        size_t used;
        uint32_t back = utf8_decode(bytes, len, &used);
        bool surrogate = cp >= 0xD800 && cp < 0xE000;
        if (back != (surrogate ? UTF8_REPLACEMENT : cp) || used != len || !utf8_valid(bytes, len))
            fail_msg("U+%04X", cp);
    }
    char bytes[4];
    assert_int_equal(utf8_encode(0x110000, bytes), 3);
    assert_memory_equal(bytes, "\xEF\xBF\xBD", 3);
}

TEST(malformed_bytes_are_found)
{
    /* How many bytes each U+FFFD replaces, from the Unicode standard's table of examples. */
    static const struct {
        const char *bytes;
        const char *used; /* a digit per character; '.' after it when it is malformed */
    } cases[] = {
        {"\x80", "1."},
        {"\xC0\xAF", "1.1."},
        {"\xE0\x80\xAF", "1.1.1."},
        {"\xF0\x80\x80\x80", "1.1.1.1."},
        {"\xED\xA0\x80", "1.1.1."}, /* a surrogate */
        {"\xF4\x91\x92\x93\xFF"
         "A",
         "1.1.1.1.1.1"}, /* above U+10FFFF */
        {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
         "A",
         "2.1.3.2.1"},
        {"\xE2\x82", "2."},
        {"\xF0\x9F\x98", "3."},
        {"\xEF\xBF\xBD", "3"}, /* U+FFFD itself */
        {"\xEF\xBF"
         "x",
         "2.1"},
        {"\xF0\x9F\x98\x80\xC3\xA9z", "421"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *text = cases[i].bytes;
        size_t len = strlen(text);
        bool valid = true;
        size_t at = 0, count = 0;
        for (const char *want = cases[i].used; *want; want++) {
            size_t used;
            uint32_t cp = utf8_decode(text + at, len - at, &used);
            assert_int_equal(used, *want - '0');
            if (want[1] == '.') {
                assert_int_equal(cp, UTF8_REPLACEMENT);
                valid = false;
                want++;
            }
            at += used;
            count++;
            assert_int_equal(utf8_prefix(text, len, count), at);
        }
        assert_int_equal(at, len);
        assert_int_equal(utf8_valid(text, len), valid);
        assert_int_equal(utf8_count(text, len), count);
        assert_int_equal(utf8_prefix(text, len, count + 5), len);
        assert_int_equal(utf8_prefix(text, len, 0), 0);
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        utf8_scrub(&out, text, len);
        assert_true(utf8_valid(out.buf, out.len));
        assert_int_equal(utf8_count(out.buf, out.len), count);
        if (valid)
            assert_string_equal(out.buf, text);
    }
}

TEST(reads_no_further_than_its_length)
{
    /* On the heap and cut exactly, so that ASan sees a byte too many. */
    static const char whole[] = "abcdefg\xF0\x9F\x98\x80tail\xE2\x82\xAC";
    for (size_t len = 1; len < sizeof(whole); len++) {
        char *cut = malloc(len);
        memcpy(cut, whole, len);
        struct strbuf out = STRBUF_INIT;
        utf8_sanitize(&out, cut, len, UTF8_KEEP_NOTHING);
        utf8_scrub(&out, cut, len);
        utf8_count(cut, len);
        utf8_columns(cut, len);
        bool complete = len <= 7 || (len >= 11 && len <= 15) || len == 18;
        assert_int_equal(utf8_valid(cut, len), complete);
        strbuf_release(&out);
        free(cut);
    }
}

TEST(characters_have_their_width)
{
    static const struct {
        uint32_t cp;
        int width;
    } cases[] = {
        {'a', 1},     {' ', 1},     {'\n', 0},    {0x1B, 0},    {0x7F, 0},     {0x85, 0},    {0xA0, 1},
        {0xE9, 1},    {0x300, 0},   {0x36F, 0},   {0x483, 0},   {0x5D0, 1},    {0x64B, 0},   {0xE31, 0},
        {0x1100, 2},  {0x1161, 0},  {0x200B, 0},  {0x200D, 0},  {0x2013, 1},   {0x202E, 0},  {0x20AC, 1},
        {0x2500, 1},  {0x2588, 1},  {0x231A, 2},  {0x2705, 2},  {0x2714, 1},   {0x3000, 2},  {0x3042, 2},
        {0x4E2D, 2},  {0x9FFF, 2},  {0xAC00, 2},  {0xD7A3, 2},  {0xFE0F, 0},   {0xFEFF, 0},  {0xFF21, 2},
        {0xFF71, 1},  {0xFFFD, 1},  {0x1F600, 2}, {0x1F680, 2}, {0x1F1E6, 1},  {0x1F926, 2}, {0x20000, 2},
        {0x2A6DF, 2}, {0x3FFFD, 2}, {0xE0100, 0}, {0xE000, 1},  {0x10FFFD, 1}, {0x1FAE0, 2}, {0x1D11E, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (utf8_width(cases[i].cp) != cases[i].width)
            fail_msg("U+%04X is %d wide", cases[i].cp, utf8_width(cases[i].cp));
}

static void sanitized(const char *text, size_t len, unsigned keep, const char *want)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    utf8_sanitize(&out, text, len, keep);
    assert_string_equal(out.buf, want);
}

TEST(control_characters_are_replaced)
{
    sanitized("plain é 中 😀", strlen("plain é 中 😀"), 0, "plain é 中 😀");
    sanitized("a\x1B[2Jb", 6, 0, "a^[[2Jb");
    sanitized("\0\x01\x1F\x7F", 4, 0, "^@^A^_^?");
    sanitized("a\nb\tc\r", 6, 0, "a^Jb^Ic^M");
    sanitized("a\nb\tc\r", 6, UTF8_KEEP_NEWLINE, "a\nb^Ic^M");
    sanitized("a\nb\tc\r", 6, UTF8_KEEP_TAB, "a^Jb\tc^M");
    sanitized("a\nb\tc\r", 6, UTF8_KEEP_NEWLINE | UTF8_KEEP_TAB, "a\nb\tc^M");
    sanitized("\xC2\x9B"
              "2J",
              4, 0, "<U+009B>2J"); /* CSI in one character */
    sanitized("\x9B"
              "2J",
              3, 0,
              "\xEF\xBF\xBD"
              "2J"); /* and as a byte that is not UTF-8 */
    sanitized("x\xE2\x80\xAEy", 5, 0, "x<U+202E>y");
    sanitized("a\xE2\x80\x8B\xEF\xBB\xBF"
              "b",
              8, 0, "a<U+200B><U+FEFF>b");
    sanitized("\xF3\xA0\x81\xA1", 4, 0, "<U+E0061>"); /* a tag character */
    sanitized("e\xCC\x81", 3, 0, "e\xCC\x81");        /* a combining mark is text */
    sanitized("\xE2\x80\xA8", 3, UTF8_KEEP_NEWLINE, "<U+2028>");
}

/* Every code point alone and between letters: the output is harmless and has the reported width. */
TEST(nothing_harmful_passes)
{
    static const struct {
        uint32_t first, last;
    } never[] = {
        {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},     {0x115F, 0x1160},
        {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},
        {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
    };
    struct strbuf out = STRBUF_INIT;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        char text[6] = "[";
        size_t len = 1 + utf8_encode(cp, text + 1);
        text[len++] = ']';
        strbuf_reset(&out);
        utf8_sanitize(&out, text, len, UTF8_KEEP_NOTHING);
        size_t columns = 0;
        bool harmful = !utf8_valid(out.buf, out.len);
        for (size_t at = 0; at < out.len;) {
            size_t used;
            uint32_t seen = utf8_decode(out.buf + at, out.len - at, &used);
            for (size_t i = 0; i < COUNT_OF(never); i++)
                harmful |= seen >= never[i].first && seen <= never[i].last;
            columns += (size_t)utf8_width(seen);
            at += used;
        }
        if (harmful || columns != utf8_columns(text, len))
            fail_msg("U+%04X", cp);
    }
    strbuf_release(&out);
}

TEST(columns_agree_on_noise)
{
    uint32_t seed = 1;
    struct strbuf out = STRBUF_INIT;
    for (int round = 0; round < 20000; round++) {
        char text[24];
        for (size_t i = 0; i < sizeof(text); i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = (char)(seed >> 24);
        }
        strbuf_reset(&out);
        utf8_sanitize(&out, text, sizeof(text), UTF8_KEEP_NOTHING);
        assert_true(utf8_valid(out.buf, out.len));
        assert_int_equal(utf8_columns(text, sizeof(text)), utf8_columns(out.buf, out.len));
        /* Sanitizing twice changes nothing. */
        struct strbuf again = STRBUF_INIT;
        utf8_sanitize(&again, out.buf, out.len, UTF8_KEEP_NOTHING);
        assert_string_equal(again.buf, out.buf);
        strbuf_release(&again);
    }
    strbuf_release(&out);
}
