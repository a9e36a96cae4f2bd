/* Tests of programs that paint a whole screen: what is shown, what keys send, and that no output escapes its bounds. */

#include "app/keymap.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "screen/program_screen.h"
#include "support/canvas_dump.h"
#include "support/test.h"
#include <string.h>

static struct program_screen screen;

static int setup(void **state)
{
    (void)state;
    program_screen_init(&screen);
    program_screen_resize(&screen, 4, 10);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    program_screen_release(&screen);
    return 0;
}

#define SCREEN_TEST(NAME) TEST_WITH(NAME, setup, teardown)

static void print(const char *text)
{
    program_screen_print(&screen, text, strlen(text));
}

static void expect_screen(const char *expected)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_non_null(screen.full);
    program_screen_text(&screen, &text);
    assert_string_equal(text.buf, expected);
}

static void expect_line(size_t number, const char *expected)
{
    const struct program_line *line = program_lines_line(&screen.lines, number);
    assert_non_null(line);
    assert_string_equal(line->text, expected);
}

static void expect_key(const char *name, const char *expected)
{
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    struct err err = ERR_INIT;
    struct key key;
    assert_int_equal(key_parse(&key, name, &err), 0);
    program_screen_key(&screen, &key, &bytes);
    if (strcmp(bytes.buf ? bytes.buf : "", expected) != 0)
        fail_msg("%s sends %zu bytes: %s", name, bytes.len, bytes.buf + (bytes.len && *bytes.buf == '\033'));
}

SCREEN_TEST(alternate_screen_is_full_and_lines_are_kept_around_it)
{
    print("before\n\033[?1049h\033[2J\033[2;3Hpaint");
    expect_screen("\n  paint\n\n\n");
    assert_int_equal(program_lines_count(&screen.lines), 1);
    print("\033[?1049lafter\n");
    assert_null(screen.full);
    expect_line(0, "before");
    expect_line(1, "after");
    print("\033[?25;1047hx");
    expect_screen("x\n\n\n\n");
    print("\033[?1047ly");
    assert_null(screen.full);
    expect_line(2, "y");
}

/* `top` paints so: from the first row on, without the alternate screen. */
SCREEN_TEST(painting_program_is_full_until_it_ends)
{
    print("before\r\n\033[?25l\033[H\033[2Jone\033[K\r\n\033[31mtwo\033[m\033[K\r\n\033[Hnew");
    expect_screen("new\ntwo\n\n\n");
    assert_int_equal(program_lines_count(&screen.lines), 1);
    program_screen_end(&screen);
    assert_null(screen.full);
    expect_line(0, "before");
    expect_line(1, "new");
    expect_line(2, "two");
    assert_int_equal(program_lines_line(&screen.lines, 2)->runs[0].look, LOOK_ERROR);
    assert_int_equal(program_lines_count(&screen.lines), 3);
}

SCREEN_TEST(each_sequence_that_paints_makes_a_screen)
{
    static const char *const paint[] = {"\033[2;2H", "\033[3f",     "\033[2d",     "\033[A",    "\033[2F", "\033[2J",
                                        "\033[1;3r", "\033[L",      "\033[2M",     "\033[S",    "\033[T",  "\033M",
                                        "\033[?1h",  "\033[?1049h", "\033[?1047h", "\033[?7;1h"};
    static const char *const print_only[] = {"\033[K",   "\033[J",    "\033[3C",    "\033[2G", "\033[31m",
                                             "\033[?1l", "\033[?25h", "\033[6n",    "\033(M",  "\033[>1H",
                                             "\033[!H",  "\033[B",    "\033[?2004h"};
    for (size_t i = 0; i < COUNT_OF(paint); i++) {
        program_screen_reset(&screen);
        print(paint[i]);
        if (!screen.full || !screen.painted)
            fail_msg("ESC%s makes no screen", paint[i] + 1);
    }
    for (size_t i = 0; i < COUNT_OF(print_only); i++) {
        program_screen_reset(&screen);
        print(print_only[i]);
        if (screen.full || screen.painted)
            fail_msg("ESC%s makes a screen", print_only[i] + 1);
    }
}

/* A progress display moves up from where it is: the lines before it are on its screen, and none is lost. */
SCREEN_TEST(lines_before_a_move_up_are_on_the_screen)
{
    print("zero\r\n\033[32mfirst\033[m\r\na 1%\r\nb 1%\r\n");
    print("\033[2Aa 9%\r\nb 9%\r\n");
    expect_screen("first\na 9%\nb 9%\n\n");
    assert_int_equal(program_lines_count(&screen.lines), 1);
    print("end\r\n> ");
    expect_screen("a 9%\nb 9%\nend\n>\n");
    program_screen_end(&screen);
    print("more");
    expect_line(0, "zero");
    expect_line(1, "first");
    assert_int_equal(program_lines_line(&screen.lines, 1)->runs[0].look, LOOK_GOOD);
    expect_line(2, "a 9%");
    expect_line(5, "> more");
    assert_int_equal(program_lines_count(&screen.lines), 6);
}

/* A shell may clear the screen and print lines from then on. */
SCREEN_TEST(screenful_of_lines_ends_a_painted_screen)
{
    print("\033[H\033[2J1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n");
    assert_null(screen.full);
    print("a line that is wider\n");
    for (size_t i = 0; i < 7; i++)
        expect_line(i, (const char[]){(char)('1' + i), '\0'});
    expect_line(7, "a line that is wider");
    print("\033[?1h1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n"); /* reads keys: stays */
    expect_screen("7\n8\n9\n\n");
}

/* Frames for more rows than the screen has. */
SCREEN_TEST(rows_of_frames_are_no_lines)
{
    for (int i = 0; i < 5; i++)
        print("\033[H1\r\n2\r\n3\r\n4\r\n5\r\n6");
    expect_screen("3\n4\n5\n6\n");
    assert_int_equal(program_lines_count(&screen.lines), 0);
}

/* A program run by one that painted gives the screen back. */
SCREEN_TEST(alternate_screen_returns_to_a_painted_one)
{
    print("\033[2J\033[2;1Hmenu\033[?1049h\033[2J\033[Hhelp");
    expect_screen("help\n\n\n\n");
    print("\033[?1049l");
    expect_screen("\nmenu\n\n\n");
}

SCREEN_TEST(sequences_may_be_cut_anywhere)
{
    static const char text[] = "a\r\n\033[?1049h\033[2J\033[3;1Hb\303\251\033[?1049lc";
    for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
        program_screen_reset(&screen);
        program_screen_print(&screen, text, cut);
        program_screen_print(&screen, text + cut, sizeof(text) - 1 - cut);
        assert_null(screen.full);
        expect_line(0, "a");
        expect_line(1, "c");
    }
}

SCREEN_TEST(keys_are_sent_as_the_program_wants_them)
{
    print("\033[?1049h");
    expect_key("Up", "\033[A");
    print("\033[?1h");
    expect_key("Up", "\033OA");
    expect_key("x", "x");
    expect_key("Ctrl-C", "\003");
    expect_key("Esc", "\033");
    expect_key("Enter", "\r");
    expect_key("Backspace", "\177");
    expect_key("PgDn", "\033[6~");
    expect_key("F1", "\033OP");
    expect_key("Alt-x", "\033x");
    print("\033[?1049l\033[?1h\033[?1049h"); /* asked for before it began to paint */
    expect_key("Left", "\033OD");
}

SCREEN_TEST(questions_to_the_terminal_are_not_answered)
{
    print("\033[?1049h\033[6n\033[c\033[>c\033[5n\033P$qm\033\\");
    expect_key("x", "x");
}

SCREEN_TEST(hidden_characters_show)
{
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 4, 10);
    print("\033[?1049ha\342\200\256b\342\200\213c");
    program_screen_paint(&screen, &canvas, rect_make(0, 0, 4, 10), 0, false);
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    canvas_dump(&shown, &canvas, false);
    for (size_t at = 0, used; at < shown.len; at += used)
        if (shown.buf[at] == '\n')
            used = 1;
        else
            assert_false(utf8_unsafe(utf8_decode(shown.buf + at, shown.len - at, &used)));
    canvas_release(&canvas);
}

SCREEN_TEST(colors_marks_and_the_cursor_reach_the_canvas)
{
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 4, 10);
    print("\033[?1049h\033[31mr\033[0;7mi\033[0;44mb\033[0m \033[1;38;2;0;255;0mg");
    program_screen_paint(&screen, &canvas, rect_make(0, 0, 4, 10), 0, true);
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    canvas_dump(&shown, &canvas, true);
    assert_non_null(strstr(shown.buf, "0: 0 program+2,0, 1 program+reverse, 2 program+0,5, "));
    assert_non_null(strstr(shown.buf, "4 program+11,0+bold"));
    assert_non_null(strstr(shown.buf, "cursor: 0, 5"));
    canvas_release(&canvas);
}

/* libvterm alone would loop forever at the first one. */
SCREEN_TEST(repeated_characters_are_bounded)
{
    print("\033[?1049h\033[b\033[5b\033[1;1H-\033[3bx\033[2;1H\303\251\033[b");
    expect_screen("----x\n\303\251\303\251\n\n\n");
    print("\033[2J\033[1;1Hy\033[4000000000b\033[4;1H\033[2Kend\033[1 b\033[?3b");
    assert_non_null(screen.full);
    print("\033[?1049h\033]0;\033[b\007\033P\033[b\033\\\033(\033[b");
    assert_non_null(screen.full);
}

SCREEN_TEST(frames_of_the_line_drawing_set_show)
{
    print("\033[?1049h\033(0lqk\033(Bq\033*0\033#8");
    expect_screen("┌─┐q\n\n\n\n");
}

SCREEN_TEST(sizes_are_bounded)
{
    print("\033[?1049h");
    program_screen_resize(&screen, 100000, 100000);
    assert_int_equal(screen.rows, PROGRAM_SCREEN_ROWS_MAX);
    assert_int_equal(screen.cols, PROGRAM_SCREEN_COLS_MAX);
    program_screen_resize(&screen, -1, 0);
    assert_int_equal(screen.rows, 1);
    print("\344\270\226\344\270\226"); /* wide: two columns is what they need */
    print("\033[999999999;999999999Hx\033[999999999@\033[999999999P\033[999999999L\033[999999999M\033[999999999S");
    program_screen_resize(&screen, 4, 10);
    print("\033[2;1Hok");
    assert_non_null(screen.full);
}

/* libvterm alone would leave the cursor above the first row, or below the last one. */
SCREEN_TEST(cursor_stays_on_a_smaller_screen)
{
    print("\033[H1\r\n2\r\n3\r\n4\0337\033[1;1H");
    program_screen_resize(&screen, 2, 10);
    print("a\033[Lb");
    expect_screen(" b\na\n");
    print("\0338x\033[1P");
    expect_screen(" b\nax\n");
    print("\033[ux\033[1@");
    assert_non_null(screen.full);
}

/* libvterm alone would move a negative number of rows. */
SCREEN_TEST(margins_end_with_the_size)
{
    print("\033[?1049h\033[3;4r\033[?69h\033[8;9s\033[2;2Hab");
    program_screen_resize(&screen, 2, 4);
    print("c\r\n\n\nd");
    expect_screen("\nd\n");
}

SCREEN_TEST(size_of_a_recording_is_guessed)
{
    static const char text[] = "\033[1;38r\033[38;100H\033[5d\033[9999;1Hx\033[";
    int rows = 24, cols = 80;
    program_screen_guess_size(text, sizeof(text) - 1, &rows, &cols);
    assert_int_equal(rows, 38);
    assert_int_equal(cols, 100);
}

SCREEN_TEST(size_of_recorded_frames_is_guessed)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    int rows = 24, cols = 80;
    strbuf_addstr(&text, "\n\n\033[H\033[2J");
    for (int row = 1; row < 33; row++)
        strbuf_addstr(&text, "\033[1mrow\033[m\033[K\r\n");
    strbuf_addstr(&text, "\033[7;1H\n\n\033[1;1Hrow\n");
    program_screen_guess_size(text.buf, text.len, &rows, &cols);
    assert_int_equal(rows, 33);
    for (int i = 0; i < 1000; i++)
        strbuf_addstr(&text, "line\n");
    program_screen_guess_size(text.buf, text.len, &rows, &cols);
    assert_int_equal(rows, 100);
    assert_int_equal(cols, 80);
}

SCREEN_TEST(row_of_the_cursor_shows_if_not_all_rows_fit)
{
    struct canvas canvas;
    canvas_init(&canvas);
    canvas_resize(&canvas, 2, 10);
    print("\033[H1\r\n2\r\n3");
    program_screen_paint(&screen, &canvas, rect_make(0, 0, 2, 10), 0, true);
    assert_string_equal(canvas.cells[0].text, "2");
    assert_string_equal(canvas.cells[10].text, "3");
    assert_int_equal(canvas.cursor_row, 1);
    canvas_release(&canvas);
}
