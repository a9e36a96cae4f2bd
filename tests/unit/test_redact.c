/* Tests of the redactor: values and their forms, in texts, in JSON, in streams; and restored in texts that the user
 * edited. */

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

static int forget(void **state)
{
    (void)state;
    redact_forget();
    return 0;
}

static void check(const char *text, const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    CLEANUP(free) char *copy = redact_copy(text);
    bool changes = strcmp(text, expected) != 0;
    assert_int_equal(redact_text(&out, text, strlen(text)), changes);
    assert_string_equal(out.buf, changes ? expected : "");
    assert_string_equal(copy, expected);
}

static void check_json(const char *text, const char *expected)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    bool changes = strcmp(text, expected) != 0;
    assert_int_equal(redact_json(&out, text, strlen(text)), changes);
    assert_string_equal(out.buf, changes ? expected : "");
    if (changes)
        assert_non_null(json_parse(&arena, out.buf, out.len, NULL));
}

TEST_WITH(without_secrets_nothing_is_found_and_short_values_are_refused, NULL, forget)
{
    assert_false(redact_any());
    check("sk-live-0123456789", "sk-live-0123456789");
    assert_false(redact_add("PIN", "1234567"));
    assert_false(redact_any());
    check("1234567", "1234567");
    assert_true(redact_add("PIN", "12345678"));
    assert_true(redact_any());
    check("12345678", "[secret PIN]");
    redact_forget();
    check("12345678", "12345678");
}

TEST_WITH(values_are_replaced_at_every_position, NULL, forget)
{
    redact_add("API_KEY", "sk-live-0123456789");
    redact_add("LONGER", "sk-live-0123456789-abc");
    redact_add("odd name]", "correct horse");
    check("", "");
    check("sk-live-01234567 8", "sk-live-01234567 8");
    check("sk-live", "sk-live");
    check("cut off: sk-live-", "cut off: [secret API_KEY]"); /* of two that begin so, one */
    check("sk-live-0123456789", "[secret API_KEY]");
    check("a sk-live-0123456789sk-live-0123456789-abc.", "a [secret API_KEY][secret LONGER].");
    check("sk-sk-live-0123456789", "sk-[secret API_KEY]");
    check("the correct horse", "the [secret odd_name_]");
}

TEST_WITH(forms_of_a_value_are_found, NULL, forget)
{
    redact_add("PASSWORD", "p\"a\\ss\two rd/é?");
    check("<p\"a\\ss\two rd/é?>", "<[secret PASSWORD]>");
    check("{\"x\":\"p\\\"a\\\\ss\\two rd/é?\"}", "{\"x\":\"[secret PASSWORD]\"}");
    check("{\"x\":\"p\\\"a\\\\ss\\two rd/\\u00e9?\"}", "{\"x\":\"[secret PASSWORD]\"}");
    check("{\\\"x\\\":\\\"p\\\\\\\"a\\\\\\\\ss\\\\two rd/é?\\\"}", "{\\\"x\\\":\\\"[secret PASSWORD]\\\"}");
    check("'p\"a\\\\ss\\two rd/é?'", "'[secret PASSWORD]'");
    check("?q=p%22a%5Css%09wo%20rd%2F%C3%A9%3F&", "?q=[secret PASSWORD]&");
    check("?q=p%22a%5css%09wo+rd%2f%c3%a9%3f&", "?q=[secret PASSWORD]&");
}

/* Which bytes are escaped in a URL is a matter of taste. */
TEST_WITH(any_spelling_in_a_url_is_found, NULL, forget)
{
    redact_add("PASSWORD", "p@ss/word 100%é");
    check("p%40ss/word%20100%25%C3%A9", "[secret PASSWORD]"); /* quote() */
    check("p%40ss%2Fword+100%25%c3%A9", "[secret PASSWORD]");
    check("p@ss/word%20100%25é", "[secret PASSWORD]");
    check("%70%40%73%73%2f%77%6f%72%64%20%31%30%30%25%c3%a9", "[secret PASSWORD]");
    check("<p@ss/word 100%é>", "<[secret PASSWORD]>");
    check("p%40ss/word%2", "[secret PASSWORD]"); /* cut off */
    check("p%41ss/word%20100%25%C3%A9", "p%41ss/word%20100%25%C3%A9");
    check("%%70%40ss/word+100%25%C3%A9%", "%[secret PASSWORD]%");
    check("p%4", "p%4");
    redact_add("ODD", "a%25%2525b");
    check("a%25%2525b a%2525%252525b", "[secret ODD] [secret ODD]");
    redact_add("BLANK", "  two blanks");
    check("++two%20blanks", "[secret BLANK]");
    check("+ two+blanks", "[secret BLANK]");
}

/* Which characters are escaped with backslashes is, too. */
TEST_WITH(any_escaped_spelling_is_found, NULL, forget)
{
    redact_add("KEY", "s3cr-\"tö\n\xf0\x9f\x94\x91/Kk");
    check("<\\u0073\\u0033\\u0063\\u0072\\u002d\\u0022\\u0074\\u00f6\\u000a\\ud83d\\udd11\\u002f\\u004b\\u006b>",
          "<[secret KEY]>");
    check("\\u0073\\u0033\\u0063\\u0072\\u002D\\u0022\\u0074\\u00F6\\u000A\\uD83D\\uDD11\\u002F\\u004B\\u006B",
          "[secret KEY]");
    check("s\\u0033cr-\\\"t\\u00f6\\n\xf0\x9f\x94\x91\\/Kk", "[secret KEY]");
    check("s3\\x63r-\\\"t\\xc3\\xb6\\n\xf0\x9f\x94\x91/Kk", "[secret KEY]");
    check("s3\\x63r-\\\"t\\xf6\\n\\ud83d\\udd11/Kk", "[secret KEY]");
    /* JSON within JSON within JSON */
    check("\\\\u0073\\\\u0033cr-\\\\\\\"t\\\\u00f6\\\\n\\\\ud83d\\\\udd11/Kk", "[secret KEY]");
    check("\\\\\\\\u0073\\\\\\\\u0033cr-\"tö\\\\\\\\n\xf0\x9f\x94\x91/Kk", "[secret KEY]");
    check("\\u0073\\u0033\\u0063\\u0072\\u002d\\u0023", "\\u0073\\u0033\\u0063\\u0072\\u002d\\u0023"); /* another */
    /* Cut off: only when enough of the value is there. */
    check("\\u0073\\u0033\\u0063", "\\u0073\\u0033\\u0063");
    redact_add("LONG", "abcdefghijkl");
    check("\\u0061\\u0062\\u0063\\u0064\\u0065\\u0066\\u0067\\u0068\\u0", "[secret LONG]");
    check_json("{\"a\":\"\\\\u0073\\\\u0033cr-\\\"t\\u00f6\\n\xf0\x9f\x94\x91/Kk\"}", "{\"a\":\"[secret KEY]\"}");
    redact_add("SLASH", "a\\bcdefg\\\\h");
    check("a\\bcdefg\\\\h \\u0061\\u005cbcdefg\\u005C\\u005ch a\\\\b\\u0063defg\\\\\\\\h",
          "[secret SLASH] [secret SLASH] [secret SLASH]");
}

TEST_WITH(hex_digits_are_found, NULL, forget)
{
    redact_add("KEY", "sk-live-\xff");
    check("0x736b2d6c6976652dff.", "0x[secret KEY].");
    check("736B2D6C6976652DFF", "[secret KEY]");
    check("73:6b:2d:6c:69:76:65:2d:ff", "[secret KEY]");
    check("x 73 6B 2D 6C 69 76 65 2D FF y", "x [secret KEY] y");
}

/* "user:sk-live-0123456789" and similar: the first and last digits depend on the neighbors too and may stay. */
TEST_WITH(values_inside_base64_are_found, NULL, forget)
{
    redact_add("KEY", "sk-live-0123456789");
    check("Basic c2stbGl2ZS0wMTIzNDU2Nzg5", "Basic [secret KEY]");
    check("Basic dXNlcjpzay1saXZlLTAxMjM0NTY3ODk=", "Basic dXNlcjp[secret KEY]k=");
    check("Basic dXNlOnNrLWxpdmUtMDEyMzQ1Njc4OQ==", "Basic dXNlOn[secret KEY]Q==");
}

TEST_WITH(lines_of_a_value_are_found_each, NULL, forget)
{
    redact_add("PEM", "-----BEGIN-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQ\nend\n");
    check("+MIIEvQIBADANBgkq\n+hkiG9w0BAQ\n+end\n", "+[secret PEM]\n+[secret PEM]\n+end\n");
}

TEST_WITH(json_stays_json, NULL, forget)
{
    redact_add("N", "n1234567");
    redact_add("QUOTES", "\",\"b\":\"");
    redact_add("SLASH", "1234567\\");
    redact_add("DIGITS", "8765432100");
    check_json("{}", "{}");
    check_json("{\"a\":\"\\n1234567\"}", "{\"a\":\"\\n1234567\"}"); /* a line break and digits, not an n */
    check_json("{\"a\":\"\\\\n1234567\"}", "{\"a\":\"\\\\[secret N]\"}");
    check_json("{\"a\":\"\\u006e1234567\"}", "{\"a\":\"[secret N]\"}");
    check_json("{\"a\":\"\",\"b\":\"\"}", "{\"a\":\"\",\"b\":\"\"}");
    check_json("{\"a\":\"1234567\\\\\",\"n1234567\":[1,2]}", "{\"a\":\"[secret SLASH]\",\"[secret N]\":[1,2]}");
    check_json("{\"a\":\"1234567\\\"\"}", "{\"a\":\"1234567\\\"\"}");
    check_json("{\"pin\":8765432100,\"x\":[-8765432100.5, true]}",
               "{\"pin\":\"[secret DIGITS]\",\"x\":[\"-[secret DIGITS].5\", true]}");
    check_json("\"n1234567", "\"n1234567"); /* cut: nothing is found, and nothing read beyond it */
}

TEST_WITH(value_in_pieces_is_found, NULL, forget)
{
    static const char text[] = "a sk-live-0123456789 b sk-live-01234567 c %73k%2dlive-0123456789 e "
                               "\\u0073\\u006B\\u002dlive-012345678\\u0039 f \\u0073\\u006bx d s%6B-";
    redact_add("KEY", "sk-live-0123456789");
    for (size_t size = 1; size < sizeof(text); size++) {
        CLEANUP(strbuf) struct strbuf rest = STRBUF_INIT, out = STRBUF_INIT;
        for (size_t at = 0; at < sizeof(text) - 1; at += size) {
            size_t left = sizeof(text) - 1 - at;
            strbuf_add(&rest, text + at, left < size ? left : size);
            size_t took = redact_part(&out, rest.buf, rest.len);
            memmove(rest.buf, rest.buf + took, rest.len - took);
            strbuf_set_len(&rest, rest.len - took);
        }
        assert_string_equal(out.buf,
                            "a [secret KEY] b sk-live-01234567 c [secret KEY] e [secret KEY] f \\u0073\\u006bx d ");
        assert_string_equal(rest.buf, "s%6B-");
    }
}

TEST_WITH(edited_text_gets_its_values_back_and_no_others, NULL, forget)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    size_t len = 0;
    redact_add("KEY", "quo\"ted-value");
    redact_add("OTHER", "another-value");
    redact_restore(&out, "{\"a\":\"[secret KEY]!\",\"b\":\"[secret OTHER] [secret NONE]\"}",
                   "{\"a\":\"quo\\\"ted-value\"}", true);
    assert_string_equal(out.buf, "{\"a\":\"quo\\\"ted-value!\",\"b\":\"[secret OTHER] [secret NONE]\"}");
    strbuf_reset(&out);
    redact_restore(&out, "use [secret KEY]", "say quo\"ted-value", false);
    assert_string_equal(out.buf, "use quo\"ted-value");
    assert_null(redact_mark("no [secret] and [secret \"x\"] here", &len));
    assert_memory_equal(redact_mark("[secret a b] [secret API_KEY] x", &len), "API_KEY", 7);
    assert_int_equal(len, 7);
}

TEST_WITH(assertion_messages_are_redacted, NULL, forget)
{
    char text[24] = "key sk-live-0123456789";
    redact_add("KEY", "sk-live-0123456789");
    bug_redact(text, sizeof(text));
    assert_string_equal(text, "key [secret KEY]");
}

TEST_WITH(variable_names_decide_which_values_are_secrets, NULL, forget)
{
    assert_true(redact_name_tells("ANTHROPIC_API_KEY"));
    assert_true(redact_name_tells("github_token"));
    assert_true(redact_name_tells("DB_PASSWORD"));
    assert_false(redact_name_tells("HOME"));
    assert_false(redact_name_tells("PATH"));
    assert_false(redact_add_variable("ROOT", "/srv/project"));
    assert_false(redact_add_variable("LEVEL", "debug"));
    assert_true(redact_add_variable("HOST_TOKEN", "/ab/cd/ef/gh"));
    assert_true(redact_add_variable("USER_ID", "f81d4fae-7dec"));
    check("/srv/project debug /ab/cd/ef/gh f81d4fae-7dec", "/srv/project debug [secret HOST_TOKEN] [secret USER_ID]");
}
