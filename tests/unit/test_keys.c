/* Tests of decoding terminal input into keys: known sequences, swallowed ones, and pastes. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "screen/keys.h"
#include "support/test.h"
#include <string.h>

/* Feeds the bytes as characters, then silence; gives the keys as text. */
static void feed(struct keyread *read, const char *bytes, struct strbuf *out)
{
    struct key key;
    for (; *bytes; bytes++)
        if (keyread_char(read, (unsigned char)*bytes, &key)) {
            key_write(out, &key);
            if (key.code == KEYSYM_MOUSE)
                strbuf_addf(out, "%d@%d,%d", key.button, key.row, key.col);
            strbuf_addch(out, ' ');
        }
    while (keyread_idle(read, &key)) {
        key_write(out, &key);
        strbuf_addch(out, ' ');
    }
}

static void check_keys(const char *bytes, const char *want)
{
    struct keyread read = {0};
    struct strbuf out = STRBUF_INIT;
    feed(&read, bytes, &out);
    assert_string_equal(out.buf, want);
    strbuf_release(&out);
}

TEST(plain_keys_are_read)
{
    check_keys("y", "y ");
    check_keys("\r", "Enter ");
    check_keys("\t", "Tab ");
    check_keys("\x03", "Ctrl-C ");
    check_keys("\x7f", "Backspace ");
    check_keys("\033", "Esc ");
    check_keys("\033y", "Alt-y ");
    check_keys("\033\033", "Esc Esc ");
}

TEST(known_sequences_are_keys)
{
    check_keys("\033[A", "Up ");
    check_keys("\033[1;5C", "Ctrl-Right ");
    check_keys("\033OA", "Up ");
    check_keys("\033[5~", "PgUp ");
    check_keys("\033[Z", "Shift-Tab ");
}

TEST(unknown_sequences_answer_nothing)
{
    check_keys("\033[1;99y", "");
    check_keys("\033[?62;22y", "");
    check_keys("\033[yx", "x ");
    check_keys("\033]11;rgb:ffff/yyyy\033\\", "");
    check_keys("\033]52;c;yyyy\x07n", "n ");
    check_keys("\033P1$ry\033\\", "");
    check_keys("\033Oy", "");
    check_keys("\033[I\033[O", "");
}

TEST(a_sequence_may_come_in_pieces)
{
    struct keyread read = {0};
    struct strbuf out = STRBUF_INIT;
    feed(&read, "\033[<0;1", &out);
    feed(&read, "2;5", &out);
    feed(&read, "M", &out);
    assert_non_null(strstr(out.buf, "1@4,11"));
    strbuf_release(&out);
}

/* Feeds bytes as a UTF-8 terminal sends them; `pauses`: with a silence after each. */
static void check_bytes(const char *bytes, bool pauses, const char *want)
{
    struct keyread read = {0};
    struct strbuf out = STRBUF_INIT;
    struct key key;
    for (const char *at = bytes; *at; at++) {
        bool whole = keyread_byte(&read, (unsigned char)*at, &key);
        while (whole) {
            key_write(&out, &key);
            strbuf_addch(&out, ' ');
            whole = pauses && keyread_idle(&read, &key);
        }
    }
    assert_string_equal(out.buf, want);
    strbuf_release(&out);
}

TEST(c1_controls_begin_sequences)
{
    static const struct {
        const char *bytes, *want;
    } cases[] = {
        {"\xc2\x9by", ""}, /* CSI y */
        {"\xc2\x9b"
         "1;5yn",
         "n "},
        {"\xc2\x9b"
         "A",
         "Up "},
        {"\xc2\x8fy", ""}, /* SS3 */
        {"\xc2\x9d"
         "52;c;yyyy\x07n",
         "n "}, /* OSC, ended by BEL */
        {"\xc2\x9d"
         "0;y\xc2\x9cn",
         "n "}, /* and by ST */
        {"\xc2\x9d"
         "0;y\033\\n",
         "n "},
        {"\xc2\x90y\xc2\x9cn", "n "}, /* DCS */
        {"\xc2\x98y\xc2\x9cn", "n "}, /* SOS */
        {"\xc2\x9ey\xc2\x9cn", "n "}, /* PM */
        {"\xc2\x9fy\xc2\x9cn", "n "}, /* APC */
        {"\x9by", ""},                /* the 8-bit byte */
        {"\x9dy\x9cn", "n "},
        {"\xc2\x9b"
         "1\xc2\x9byn",
         "n "},              /* one cuts off another */
        {"\xc2\x9cn", "n "}, /* ST alone, NEL: nothing */
        {"\xc2\x85n", "n "},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x91", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x91 "},
        {"\xc2y", ""}, /* half a character */
        {"\xc2\r", "Enter "},
        {"\xe2\x82\xc3\xa9", "\xc3\xa9 "},
        {"\xff\xc0y", "y "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_bytes(cases[i].bytes, false, cases[i].want);
        if (!strchr(cases[i].bytes, '\033'))
            check_bytes(cases[i].bytes, true, cases[i].want);
    }
    /* A pause does not turn what a C1 control began into a key. */
    struct keyread read = {0};
    struct key key;
    assert_false(keyread_char(&read, 0x9B, &key));
    assert_false(keyread_idle(&read, &key));
    assert_false(keyread_char(&read, 'y', &key));
}

TEST(c1_controls_do_not_end_a_paste)
{
    check_bytes("\033[200~\xc2\x9b"
                "201~y\xc2\x9dz\033[201~n",
                false, "? 2 0 1 ~ y z ? n ");
}

TEST(mouse_events_are_read)
{
    struct keyread read = {0};
    struct strbuf out = STRBUF_INIT;
    feed(&read, "\033[<0;300;250M\033[<0;300;250m\033[<35;1;1M\033[<64;2;3M\033[<65;2;3M\033[<0;0;0M\033[<;M", &out);
    assert_non_null(strstr(out.buf, "1@249,299"));
    assert_non_null(strstr(out.buf, "4@2,1"));
    assert_non_null(strstr(out.buf, "5@2,1"));
    size_t marks = 0;
    for (const char *at = out.buf; (at = strchr(at, '@')); at++)
        marks++;
    assert_int_equal(marks, 3);
    strbuf_release(&out);
}

TEST(a_paste_is_one_event)
{
    struct keyread read = {0};
    struct key key;
    const char *bytes = "\033[200~y\r\033[31m\x03 n\033[201~q";
    uint32_t want[] = {KEYSYM_PASTE_BEGIN, 'y', KEYSYM_ENTER, ' ', 'n', KEYSYM_PASTE_END, 'q'};
    size_t count = 0;
    for (; *bytes; bytes++)
        if (keyread_char(&read, (unsigned char)*bytes, &key)) {
            assert_true(count < sizeof(want) / sizeof(want[0]));
            assert_int_equal(key.code, want[count++]);
        }
    assert_int_equal(count, sizeof(want) / sizeof(want[0]));
    /* An end without a beginning is ignored. */
    check_keys("\033[201~", "");
}

/* One Alt key must not lock the keyboard. */
TEST(alt_and_a_string_opener_is_a_key)
{
    static const char openers[] = "]PX^_[O";
    for (const char *at = openers; *at; at++) {
        struct keyread read = {0};
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        feed(&read, (const char[]){'\033', *at, '\0'}, &out);
        feed(&read, "n", &out);
        CLEANUP(free) char *want = xasprintf("Alt-%c n ", *at);
        assert_string_equal(out.buf, want);
    }
}

TEST(ctrl_c_works_inside_a_sequence)
{
    check_keys("\033]0;y\x03n", "Ctrl-C n ");
    check_keys("\033]0;y\033\x03n", "Ctrl-C n ");
    check_keys("\033[1;\x03n", "Ctrl-C n ");
    check_bytes("\xc2\x9d\x03n", true, "Ctrl-C n ");
}

/* Characters after such a silence do not end the string: they may have waited in a queue. Input after the following
 * pause is typed. */
TEST(a_string_ends_after_silence)
{
    struct keyread read = {0};
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct key key;
    assert_false(keyread_char(&read, 0x9D, &key));
    for (int i = 0; i < 5; i++) {
        read.now_us += 900000;
        feed(&read, "y", &out);
    }
    read.now_us += 1000000;
    feed(&read, "yyy", &out);
    assert_string_equal(out.buf, "");
    feed(&read, "n", &out);
    assert_string_equal(out.buf, "n ");
}

TEST(a_string_ends_when_it_is_too_long)
{
    struct keyread read = {0};
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    feed(&read, "\033]y", &out);
    for (int i = 0; i < 5000; i++) {
        struct key key;
        assert_false(keyread_char(&read, 'y', &key));
    }
    feed(&read, "y", &out);
    feed(&read, "n", &out);
    assert_string_equal(out.buf, "n ");
}

TEST(a_string_does_not_hide_the_end_of_a_paste)
{
    check_keys("\033[200~a\033]b\033[201~n", "? a b ? n ");
}
