/* Tests of masking secrets in what a script prints. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "mask.h"
#include "support/test.h"
#include <string.h>

static void check(const struct mask *mask, const char *text, const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    mask_text(&out, mask, text, strlen(text));
    assert_string_equal(out.buf, expected);
    assert_int_equal(mask_finds(mask, text, strlen(text)), strcmp(text, expected) != 0);
}

TEST(values_are_masked_at_every_position)
{
    struct mask mask = MASK_INIT;
    check(&mask, "nothing to hide", "nothing to hide");
    mask_add(&mask, "KEY", "secret");
    mask_add(&mask, "KEY", "abc"); /* too short */
    mask_add(&mask, "KEY", "");
    check(&mask, "secret", "[secret KEY]");
    check(&mask, "a secret, secretsecret abc", "a [secret KEY], [secret KEY][secret KEY] abc");
    check(&mask, "secre", "secre");
    check(&mask, "sesecret", "se[secret KEY]");
    check(&mask, "", "");
    mask_clear(&mask);
    check(&mask, "secret", "secret");
    mask_clear(&mask);
}

TEST(forms_of_a_value_are_masked)
{
    struct mask mask = MASK_INIT;
    mask_add(&mask, "KEY", "a\\b\t\"c'd\x01é€😀");
    check(&mask, "<a\\b\t\"c'd\x01é€😀>", "<[secret KEY]>");
    check(&mask, "['a\\\\b\\t\"c\\'d\\x01é€😀']", "['[secret KEY]']");                     /* repr() */
    check(&mask, "['a\\\\b\\t\"c\\'d\\x01\\xe9\\u20ac\\U0001f600']", "['[secret KEY]']"); /* ascii() */
    check(&mask, "b'a\\\\b\\t\"c\\'d\\x01\\xc3\\xa9\\xe2\\x82\\xac\\xf0\\x9f\\x98\\x80'",
          "b'[secret KEY]'");                                                                    /* of bytes */
    check(&mask, "\"a\\\\b\\t\\\"c'd\\u0001\\u00e9\\u20ac\\ud83d\\ude00\"", "\"[secret KEY]\""); /* json.dumps() */
    check(&mask, "\"a\\\\b\\t\\\"c'd\\u0001é€😀\"", "\"[secret KEY]\"");
    mask_clear(&mask);
    mask_add(&mask, "KEY", "it's so");
    check(&mask, "[\"it's so\"]", "[\"[secret KEY]\"]"); /* one kind of quotes: nothing to escape */
    mask_clear(&mask);
}

TEST(any_escaped_spelling_is_masked)
{
    struct mask mask = MASK_INIT;
    mask_add(&mask, "KEY", "s3cret");
    check(&mask, "\\u0073\\u0033\\u0063\\u0072\\u0065\\u0074", "[secret KEY]");
    check(&mask, "<\\u0073\\u0033cr\\u0065t>", "<[secret KEY]>");
    check(&mask, "s3cr\\x65t \\\\u0073\\\\u0033cret", "[secret KEY] [secret KEY]");
    check(&mask, "\\u0073\\u0033\\u0063\\u0072\\u0065\\u0075", "\\u0073\\u0033\\u0063\\u0072\\u0065\\u0075");
    mask_clear(&mask);
}

TEST(lines_of_a_value_are_masked)
{
    struct mask mask = MASK_INIT;
    mask_add(&mask, "KEY", "first-line\r\nshort\n\nsecond'\"line\n");
    check(&mask, "first-line\r\nshort\n\nsecond'\"line\n", "[secret KEY]");
    check(&mask, "first-line and short", "[secret KEY] and short");
    check(&mask, "'first-line\\r\\nshort\\n\\nsecond\\'\"line\\n'", "'[secret KEY]'");
    check(&mask, "'second\\'\"line', \"second'\\\"line\"", "'[secret KEY]', \"[secret KEY]\"");
    mask_clear(&mask);
}

TEST(the_longest_value_wins)
{
    struct mask mask = MASK_INIT;
    mask_add(&mask, "KEY", "secret");
    mask_add(&mask, "MORE", "secret-and-more");
    check(&mask, "secret-and-more secret-and", "[secret MORE] [secret KEY]-and");
    mask_clear(&mask);
}

/* A stream in every possible pair of pieces gives what the whole text gives. */
TEST(values_in_two_pieces)
{
    const char *text = "xsecresecret-and-mosecret secsecret-and-morese\\u0073ecret \\u0073e";
    struct mask mask = MASK_INIT;
    CLEANUP(strbuf) struct strbuf whole = STRBUF_INIT;
    mask_add(&mask, "KEY", "secret");
    mask_add(&mask, "KEY", "secret-and-more");
    mask_text(&whole, &mask, text, strlen(text));
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        size_t taken = mask_part(&out, &mask, text, cut);
        assert_true(taken <= cut);
        taken += mask_part(&out, &mask, text + taken, strlen(text) - taken);
        mask_text(&out, &mask, text + taken, strlen(text) - taken);
        assert_string_equal(out.buf, whole.buf);
    }
    mask_clear(&mask);
}
