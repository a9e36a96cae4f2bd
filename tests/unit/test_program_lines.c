/* Tests of program output as text: control sequences take effect within the line and are dropped otherwise. */

#include "base/mem.h"
#include "screen/program_lines.h"
#include "support/canvas_dump.h"
#include "support/test.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lines with "|" between them; text in another role is in brackets after the name of the role. */
static char *shown(struct program_lines *text)
{
    struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < program_lines_count(text); i++) {
        const struct program_line *line = program_lines_line(text, i);
        if (i)
            strbuf_addch(&out, '|');
        for (uint32_t k = 0; k < line->run_count; k++) {
            const struct program_run *run = &line->runs[k];
            bool plain = run->look == LOOK_PROGRAM;
            if (!plain)
                strbuf_addf(&out, "%s[", look_name((enum look)run->look));
            strbuf_add(&out, line->text + run->at, run->len);
            if (!plain)
                strbuf_addch(&out, ']');
        }
    }
    return strbuf_detach(&out, NULL);
}

static void check(const char *printed, const char *want)
{
    struct program_lines text;
    /* Whole, and in pieces of every length: a sequence may be cut anywhere. */
    for (size_t piece = strlen(printed); piece > 0; piece--) {
        program_lines_init(&text);
        for (size_t at = 0; at < strlen(printed); at += piece) {
            size_t len = strlen(printed) - at < piece ? strlen(printed) - at : piece;
            program_lines_print(&text, printed + at, len);
        }
        CLEANUP(free) char *got = shown(&text);
        assert_string_equal(got ? got : "", want);
        program_lines_release(&text);
    }
}

TEST(carriage_return_and_backspace_overwrite)
{
    check("one\ntwo", "one|two");
    check("one\r\ntwo\r\n", "one|two");
    check("\n\n", "|");
    check("10%\r20%\r100%\ndone\n", "100%|done");
    check("long line\rshort\n", "shortline");
    check("abc\b\bX", "aXc");
    check("\b\bx", "x");
    check("a\tb\n12345678\tc", "a       b|12345678        c");
    check("bell\a rings", "bell rings");
    check("^C\x03 stays", "^C\x03 stays");
}

TEST(colors_become_roles)
{
    check("a \x1b[31mred\x1b[0m b", "a error[red] b");
    check("\x1b[1mbold\x1b[22m \x1b[2mdim\x1b[m", "text.strong[bold] text.dim[dim]");
    check("\x1b[1;92mok\x1b[39;22m \x1b[33mwarn\x1b[49m", "good[ok] warn[warn]");
    check("\x1b[38;5;31mx\x1b[0m\x1b[48;2;31;32;33my", "xy");
    check("\x1b[34mblue\x1b[0m", "blue");
}

TEST(the_line_can_be_erased_and_moved_in)
{
    check("progress 10\r\x1b[Kdone", "done");
    check("abcdef\x1b[3D\x1b[K", "abc");
    check("abc\x1b[2K\rx", "x  ");
    check("abc\x1b[1Kd", "   d");
    check("ab\x1b[3Cc", "ab   c");
    check("abc\x1b[1Gx", "xbc");
    check("\x1b[99999999999999999999Gx\x1b[2K\r\x1b[K", "");
}

TEST(cursor_sequences_are_left_out)
{
    check("a\x1b[2J\x1b[H\x1b[5;5Hb", "ab");
    check("a\x1b[?25l\x1b[?1049hb\x1b(Bc\x1b=d", "abcd");
    check("a\x1b]0;a title\ab\x1b]8;;http://x\x1b\\c", "abc");
    check("a\x1bP1$r0m\x1b\\b\x1b_x\x1b\\c", "abc");
    check("a\x1b[31\nb", "ab"); /* broke off */
    check("a\x1b", "a");
}

TEST(a_sequence_that_never_ends_hides_nothing_for_long)
{
    struct program_lines text;
    program_lines_init(&text);
    program_lines_print(&text, "\x1b]0;", 4);
    for (int i = 0; i < 5000; i++)
        program_lines_print(&text, "x", 1);
    program_lines_print(&text, "\nseen\n", 6);
    size_t count = program_lines_count(&text);
    assert_string_equal(program_lines_line(&text, count - 1)->text, "seen");
    program_lines_reset(&text);
    program_lines_print(&text, "\x1b[", 2);
    for (int i = 0; i < 5000; i++)
        program_lines_print(&text, "1;", 2);
    program_lines_print(&text, "mseen", 5);
    assert_non_null(strstr(program_lines_line(&text, program_lines_count(&text) - 1)->text, "seen"));
    program_lines_release(&text);
}

TEST(input_has_its_own_role_and_no_control_sequences)
{
    struct program_lines text;
    program_lines_init(&text);
    program_lines_print(&text, "name? \x1b]0;", strlen("name? \x1b]0;"));
    program_lines_type(&text, "A\x1b[31mda\n", strlen("A\x1b[31mda\n"));
    program_lines_print(&text, "hello\n", 6);
    CLEANUP(free) char *got = shown(&text);
    assert_string_equal(got, "name? program.input[› A\x1b[31mda]|hello");
    program_lines_release(&text);
}

/* Characters arrive whole: only control sequences are cut anywhere. */
static void check_whole(const char *printed, const char *want)
{
    struct program_lines text;
    program_lines_init(&text);
    program_lines_print(&text, printed, strlen(printed));
    CLEANUP(free) char *got = shown(&text);
    assert_string_equal(got, want);
    program_lines_release(&text);
}

/* Every line of it has its sign, in ASCII too. */
TEST(input_has_a_sign_in_front)
{
    struct program_lines text;
    program_lines_init(&text);
    program_lines_type(&text, "a\nb\n\nc", strlen("a\nb\n\nc"));
    CLEANUP(free) char *got = shown(&text);
    assert_string_equal(got, "program.input[› a]|program.input[› b]|program.input[› ]|program.input[› c]");
    program_lines_reset(&text);
    setenv("LC_ALL", "C", 1);
    program_lines_type(&text, "a\n", 2);
    CLEANUP(free) char *ascii = shown(&text);
    setenv("LC_ALL", "C.UTF-8", 1);
    assert_string_equal(ascii, "program.input[> a]");
    program_lines_release(&text);
}

TEST(wide_characters_have_two_columns)
{
    check_whole("漢字漢字漢字\r12", "12字漢字漢字");
    check_whole("漢字漢字\r1", "1 字漢字");
    check_whole("漢字漢字\r123", "123 漢字");
    check_whole("漢字\tx", "漢字    x");
    check_whole("漢字漢\x1b[3D\x1b[K", "漢 ");
    check_whole("漢字\x1b[3Gx", "漢x ");
    check_whole("ab\r漢", "漢");
    check_whole("a漢\b\bb", "ab ");
}

TEST(marks_stay_on_their_characters)
{
    check_whole("e\u0301te\u0301\rX", "Xte\u0301");
    check_whole("e\u0301\tx", "e\u0301       x");
    check_whole("漢\u0301\r12", "12");
}

/* Cut on either side, with a sign there. */
TEST(too_wide_line_is_marked)
{
    static const struct {
        int left;
        const char *want;
    } cases[] = {{0, "012345678…\nshort\n"}, {4, "…56789abc…\n…\n"}, {6, "…789abcdef\n…\n"}};
    struct program_lines text;
    program_lines_init(&text);
    program_lines_print(&text, "0123456789abcdef\nshort", strlen("0123456789abcdef\nshort"));
    assert_int_equal(program_lines_longest(&text), 16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct canvas canvas;
        CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
        canvas_init(&canvas);
        canvas_resize(&canvas, 2, 10);
        for (int row = 0; row < 2; row++)
            program_lines_paint(&text, &canvas, rect_make(0, 0, 2, 10), row, cases[i].left, (size_t)row);
        canvas_dump(&got, &canvas, false);
        assert_string_equal(got.buf, cases[i].want);
        canvas_release(&canvas);
    }
    program_lines_print(&text, "er than all of them", strlen("er than all of them"));
    assert_int_equal(program_lines_longest(&text), 24);
    program_lines_release(&text);
}

TEST(the_newest_lines_are_kept)
{
    struct program_lines text;
    char line[32];
    program_lines_init(&text);
    for (int i = 0; i < 50000; i++) {
        snprintf(line, sizeof(line), "line %d\n", i);
        program_lines_print(&text, line, strlen(line));
    }
    assert_int_equal(program_lines_count(&text), PROGRAM_LINES_MAX);
    assert_int_equal(text.dropped, 30000);
    assert_string_equal(program_lines_line(&text, 0)->text, "line 30000");
    assert_string_equal(program_lines_line(&text, PROGRAM_LINES_MAX - 1)->text, "line 49999");
    assert_null(program_lines_line(&text, PROGRAM_LINES_MAX));
    assert_true(text.room <= 4 * PROGRAM_LINES_MAX);
    program_lines_release(&text);
}

TEST(unfinished_line_continues)
{
    struct program_lines text;
    CLEANUP(free) char *much = xcalloc(1u << 20, 1);
    memset(much, 'x', (1u << 20) - 1);
    program_lines_init(&text);
    for (int i = 0; i < 20; i++)
        program_lines_print(&text, much, strlen(much));
    assert_int_equal(program_lines_line(&text, 0)->len, PROGRAM_LINES_COLUMNS_MAX);
    assert_true(text.bytes <= PROGRAM_LINES_BYTES_MAX);
    program_lines_release(&text);
}

TEST(a_text_is_found_round_the_end)
{
    struct program_lines text;
    size_t at = SIZE_MAX;
    program_lines_init(&text);
    assert_false(program_lines_search(&text, "x", false, &at));
    program_lines_print(&text, "one\ntwo\nthree\nOne more", strlen("one\ntwo\nthree\nOne more"));
    assert_true(program_lines_search(&text, "one", false, &at));
    assert_int_equal(at, 0);
    assert_true(program_lines_search(&text, "one", false, &at));
    assert_int_equal(at, 3);
    assert_true(program_lines_search(&text, "one", false, &at));
    assert_int_equal(at, 0);
    assert_true(program_lines_search(&text, "t", true, &at));
    assert_int_equal(at, 2);
    assert_false(program_lines_search(&text, "four", false, &at));
    program_lines_release(&text);
}

void test_begin(void)
{
    setenv("LC_ALL", "C.UTF-8", 1);
}
