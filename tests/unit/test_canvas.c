/* Tests of cells: painted text stays in its rectangle, and no cell holds what a terminal must not receive. */

#include "base/mem.h"
#include "base/utf8.h"
#include "screen/canvas.h"
#include "support/canvas_dump.h"
#include "support/test.h"

static struct canvas canvas;

static int make(void **state)
{
    (void)state;
    canvas_init(&canvas);
    canvas_resize(&canvas, 4, 20);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    canvas_release(&canvas);
    return 0;
}

static struct rect all(void)
{
    return rect_make(0, 0, canvas.rows, canvas.cols);
}

/* No half characters: an empty cell follows every wide one, and there is no other empty cell. */
static void assert_whole(void)
{
    for (int row = 0; row < canvas.rows; row++) {
        for (int col = 0; col < canvas.cols; col++) {
            const struct cell *cell = &canvas.cells[row * canvas.cols + col];
            if (cell->width == 2) {
                assert_true(col + 1 < canvas.cols);
                assert_int_equal(cell[1].width, 0);
            }
            if (cell->width == 0) {
                assert_true(col > 0 && cell[-1].width == 2);
                assert_string_equal(cell->text, "");
            } else {
                assert_true(strlen(cell->text) > 0);
            }
            assert_true(utf8_valid(cell->text, strlen(cell->text)));
        }
    }
}

static void assert_shows(const char *expected)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    canvas_dump(&out, &canvas, false);
    while (out.len > 1 && out.buf[out.len - 1] == '\n' && out.buf[out.len - 2] == '\n')
        strbuf_set_len(&out, out.len - 1);
    assert_string_equal(out.buf, expected);
    assert_whole();
}

TEST_WITH(text_stays_in_its_rectangle, make, drop)
{
    struct rect in = rect_make(1, 5, 2, 4);
    assert_int_equal(canvas_str(&canvas, in, 0, 0, LOOK_TEXT, "abcdef"), 4);
    assert_int_equal(canvas_str(&canvas, in, 1, -2, LOOK_TEXT, "abcdef"), 6);
    assert_int_equal(canvas_str(&canvas, in, 2, 0, LOOK_TEXT, "under"), 4);
    canvas_str(&canvas, in, -1, 0, LOOK_TEXT, "above");
    canvas_str(&canvas, in, 0, 4, LOOK_TEXT, "beyond");
    canvas_str(&canvas, in, 0, -100, LOOK_TEXT, "before");
    assert_shows("\n     abcd\n     cdef\n");
}

TEST_WITH(rectangles_off_the_canvas_are_harmless, make, drop)
{
    canvas_str(&canvas, rect_make(-3, -3, 4, 6), 3, 0, LOOK_TEXT, "abcdefgh");
    canvas_str(&canvas, rect_make(3, 18, 9, 9), 0, 0, LOOK_TEXT, "xyz");
    canvas_fill(&canvas, rect_make(-10, -10, 5, 5), LOOK_ERROR);
    canvas_mark(&canvas, rect_make(100, 100, 5, 5), MARK_BOLD);
    canvas_tint(&canvas, rect_make(0, 2000000000, 5, 2000000000), LOOK_ERROR);
    assert_shows("def\n\n\n                  xy\n");
}

TEST_WITH(wide_characters_are_never_split, make, drop)
{
    canvas_str(&canvas, rect_make(0, 0, 1, 3), 0, 0, LOOK_TEXT, "日本");
    canvas_str(&canvas, rect_make(1, 0, 1, 20), 0, -1, LOOK_TEXT, "日本");
    canvas_str(&canvas, all(), 2, 19, LOOK_TEXT, "日");
    assert_shows("日\n 本\n");
    assert_int_equal(canvas_str(&canvas, rect_make(0, 0, 1, 3), 0, 0, LOOK_TEXT, "日本"), 3);
}

TEST_WITH(overwriting_half_of_a_wide_one_leaves_a_blank, make, drop)
{
    canvas_str(&canvas, all(), 0, 0, LOOK_TEXT, "日本語");
    canvas_str(&canvas, all(), 0, 1, LOOK_TEXT, "x");
    canvas_str(&canvas, all(), 0, 4, LOOK_TEXT, "y");
    assert_shows(" x本y\n");
    canvas_str(&canvas, all(), 0, 1, LOOK_TEXT, "語");
    assert_shows(" 語 y\n");
    canvas_fill(&canvas, rect_make(0, 2, 1, 1), LOOK_TEXT);
    assert_shows("    y\n");
}

TEST_WITH(marks_join_the_character_before, make, drop)
{
    assert_int_equal(canvas_str(&canvas, all(), 0, 0, LOOK_TEXT, "e\xCC\x81x"), 2);
    assert_string_equal(canvas.cells[0].text, "e\xCC\x81");
    assert_string_equal(canvas.cells[1].text, "x");

    CLEANUP(strbuf) struct strbuf many = STRBUF_INIT;
    strbuf_addstr(&many, "a");
    for (int i = 0; i < 50; i++)
        strbuf_addstr(&many, "\xCC\x81");
    strbuf_addstr(&many, "b");
    assert_int_equal(canvas_str(&canvas, all(), 1, 0, LOOK_TEXT, many.buf), 2);
    assert_int_equal(strlen(canvas.cells[20].text), 13);
    assert_string_equal(canvas.cells[21].text, "b");
    assert_whole();

    /* A character that was scrolled away takes its marks with it. A mark without a character is shown as such. */
    canvas_str(&canvas, all(), 2, -1, LOOK_TEXT, "e\xCC\x81x");
    assert_string_equal(canvas.cells[40].text, "x");
    assert_int_equal(canvas_str(&canvas, all(), 3, 0, LOOK_TEXT, "\xCC\x81x"), 9);
    /* At the very edge as well. */
    canvas_str(&canvas, rect_make(0, 0, 1, 1), 0, 0, LOOK_TEXT, "o\xCC\x88");
    assert_string_equal(canvas.cells[0].text, "o\xCC\x88");
}

TEST_WITH(foreign_text_is_made_harmless, make, drop)
{
    canvas_text(&canvas, all(), 0, 0, LOOK_TEXT, "a\x1B[2J\n\x7F", 7);
    canvas_text(&canvas, all(), 1, 0, LOOK_TEXT, "x\xE2\x80\xAEy\xC2\x9B", 7);
    canvas_text(&canvas, all(), 2, 0, LOOK_TEXT, "\xFF\xC0z\0!", 5);
    assert_shows("a^[[2J^J^?\nx<U+202E>y<U+009B>\n\xEF\xBF\xBD\xEF\xBF\xBDz^@!\n");
}

TEST_WITH(tabs_count_from_the_beginning_of_the_text, make, drop)
{
    canvas_str(&canvas, all(), 0, 2, LOOK_TEXT, "a\tb");
    canvas_str(&canvas, all(), 1, -4, LOOK_TEXT, "a\tb");
    assert_int_equal(canvas_columns(&canvas, "a\tb", 3), 9);
    assert_shows("  a       b\n    b\n");
}

TEST_WITH(right_edge, make, drop)
{
    canvas_right(&canvas, all(), 0, 0, LOOK_TEXT, "日x");
    canvas_right(&canvas, all(), 1, 2, LOOK_TEXT, "end");
    canvas_right(&canvas, rect_make(2, 0, 1, 3), 0, 0, LOOK_TEXT, "abcdef");
    assert_int_equal(canvas_printf(&canvas, all(), 3, 0, LOOK_TEXT, "%d of %d", 3, 4), 6);
    assert_shows("                 日x\n               end\ndef\n3 of 4\n");
}

TEST_WITH(cut_text_is_marked, make, drop)
{
    struct rect place = rect_make(0, 1, 1, 5);
    assert_int_equal(canvas_cut(&canvas, place, 0, 0, LOOK_TEXT, "abcde", 5), 5);
    assert_shows(" abcde\n");
    assert_int_equal(canvas_cut(&canvas, place, 0, 0, LOOK_TEXT, "abcdef", 6), 5);
    assert_shows(" abcd…\n");
    /* Scrolled sideways, to the end of it. */
    canvas_clear(&canvas);
    canvas_cut(&canvas, place, 0, -1, LOOK_TEXT, "abcdef", 6);
    assert_shows(" bcdef\n");
    /* A wide character that sticks out, and marks after the last one that does not. */
    canvas_clear(&canvas);
    canvas_cut(&canvas, place, 0, 0, LOOK_TEXT, "日本語", strlen("日本語"));
    assert_shows(" 日本…\n");
    assert_whole();
    canvas_clear(&canvas);
    canvas_cut(&canvas, place, 0, 0, LOOK_TEXT, "abcde\u0301", strlen("abcde\u0301"));
    assert_shows(" abcde\u0301\n");
    canvas_cut(&canvas, rect_make(0, 0, 1, 0), 0, 0, LOOK_TEXT, "x", 1);
    canvas_cut(&canvas, rect_make(9, 9, 1, 1), 0, 0, LOOK_TEXT, "xyz", 3);
    assert_whole();
}

TEST_WITH(ascii_has_a_twin_for_every_sign, make, drop)
{
    for (enum sign sign = 0; sign < SIGN_COUNT; sign++) {
        canvas.ascii = false;
        const char *fine = canvas_sign(&canvas, sign);
        assert_int_equal(canvas_columns(&canvas, fine, strlen(fine)), 1);
        canvas.ascii = true;
        const char *plain = canvas_sign(&canvas, sign);
        assert_true(strlen(plain) == 1 && plain[0] > ' ' && plain[0] < 0x7F);
    }
    canvas_str(&canvas, all(), 0, 0, LOOK_TEXT, "62 · all −1 …");
    canvas_text(&canvas, all(), 1, 0, LOOK_TEXT, "caf\xC3\xA9 \xE2\x88\x92", 9);
    canvas_text(&canvas, all(), 2, 0, LOOK_TEXT, "e\xCC\x81\xFF", 4);
    assert_shows("62 - all -1 ~\ncaf<U+00E9> <U+2212>\ne<U+0301>?\n");
}

TEST_WITH(frame, make, drop)
{
    canvas_resize(&canvas, 4, 30);
    struct rect inside = canvas_frame(&canvas, all(), "3 tools", "5 calls", false);
    assert_shows("┌─ 3 tools ──────── 5 calls ─┐\n│                            │\n│                            │\n"
                 "└────────────────────────────┘\n");
    assert_int_equal(inside.row, 1);
    assert_int_equal(inside.col, 1);
    assert_int_equal(inside.rows, 2);
    assert_int_equal(inside.cols, 28);
    assert_int_equal(canvas.cells[0].look, LOOK_FRAME);
    assert_int_equal(canvas.cells[4].look, LOOK_FRAME_TITLE);

    canvas_clear(&canvas);
    canvas_frame(&canvas, rect_make(0, 0, 2, 30), "3 tools", "5 calls", true);
    assert_shows("┌─[3 tools]──────── 5 calls ─┐\n└────────────────────────────┘\n");
    assert_int_equal(canvas.cells[0].look, LOOK_FRAME_FOCUS);
    assert_int_equal(canvas.cells[4].marks, MARK_BOLD);

    canvas_clear(&canvas);
    canvas_frame(&canvas, rect_make(0, 0, 2, 20), "conversation", "step 2 of 6", false);
    assert_shows("┌─ conversation ───┐\n└──────────────────┘\n");
    canvas_clear(&canvas);
    canvas_frame(&canvas, rect_make(0, 0, 2, 12), "conversation", "", false);
    assert_shows("┌─ conve… ─┐\n└──────────┘\n");
    canvas.ascii = true;
    canvas_clear(&canvas);
    canvas_frame(&canvas, rect_make(0, 0, 3, 12), "a · b", NULL, true);
    assert_shows("+-[a - b]--+\n|          |\n+----------+\n");
}

TEST_WITH(frames_of_every_size, make, drop)
{
    for (int rows = 0; rows <= 4; rows++) {
        for (int cols = 0; cols <= 20; cols++) {
            canvas_clear(&canvas);
            struct rect inside = canvas_frame(&canvas, rect_make(0, 0, rows, cols), "日本 title", "note", cols % 2);
            assert_true(inside.rows >= 0 && inside.cols >= 0 && inside.rows <= rows && inside.cols <= cols);
            assert_whole();
            for (int row = 0; row < canvas.rows; row++)
                for (int col = cols; col < canvas.cols; col++)
                    assert_string_equal(canvas.cells[row * canvas.cols + col].text, " ");
        }
    }
}

TEST_WITH(dump_of_roles, make, drop)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    canvas_str(&canvas, all(), 0, 1, LOOK_STATUS, "live");
    canvas_str(&canvas, all(), 0, 5, LOOK_TEXT, "!");
    canvas_tint(&canvas, rect_make(2, 0, 1, 20), LOOK_SELECT);
    canvas_mark(&canvas, rect_make(2, 3, 1, 1), MARK_BOLD | MARK_UNDERLINE);
    canvas.cursor_row = 3;
    canvas.cursor_col = 7;
    canvas_dump(&out, &canvas, true);
    assert_string_equal(out.buf, " live!\n\n\n\n--\n0: 1-4 status, 5-19 text\n"
                                 "2: 0-2 select, 3 select+underline+bold, 4-19 select\ncursor: 3, 7\n");
}

TEST_WITH(resize_and_release, make, drop)
{
    canvas_resize(&canvas, 0, 0);
    canvas_str(&canvas, rect_make(0, 0, 1, 1), 0, 0, LOOK_TEXT, "x");
    canvas_frame(&canvas, rect_make(0, 0, 10, 10), "t", "n", true);
    canvas_resize(&canvas, -1, 5);
    canvas_resize(&canvas, 2, 2);
    canvas_str(&canvas, all(), 1, 1, LOOK_TEXT, "x");
    assert_shows("\n x\n");
}
