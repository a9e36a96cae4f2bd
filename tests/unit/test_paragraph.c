/* Tests of fitting sentences and paths into little room. */

#include "base/mem.h"
#include "screen/text.h"
#include "support/canvas_dump.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

static void expect_painted(const char *text, int rows, int cols, bool ascii, const char *want)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    struct canvas canvas;
    canvas_init(&canvas);
    canvas.ascii = ascii;
    canvas_resize(&canvas, rows, cols);
    paragraph_paint(&canvas, rect_make(0, 0, rows, cols), 0, 0, LOOK_TEXT, text);
    canvas_dump(&got, &canvas, false);
    assert_string_equal(got.buf, want);
    canvas_release(&canvas);
}

TEST(breaks_between_words)
{
    expect_painted("one two three", 3, 8, false, "one two\nthree\n\n");
    expect_painted("one  two\nthree", 2, 20, false, "one  two three\n\n");
    expect_painted("abcdefghij", 2, 6, false, "abcdef\nghij\n");
    expect_painted("", 1, 6, false, "\n");
}

TEST(cuts_at_a_word_and_marks_it)
{
    expect_painted("one two three four", 1, 12, false, "one two …\n");
    expect_painted("one two three four", 2, 9, false, "one two\nthree …\n");
    expect_painted("one two", 1, 7, false, "one two\n");
    expect_painted("one two three", 1, 12, true, "one two ~\n");
}

TEST(shows_foreign_text_harmless)
{
    expect_painted("a\033[2Jb", 1, 10, false, "a^[[2Jb\n");
    expect_painted("日本語 日本", 2, 7, false, "日本語\n日本\n");
    expect_painted("日本", 4, 1, false, "\n\n\n\n");
}

TEST(counts_rows)
{
    struct canvas canvas;
    canvas_init(&canvas);
    assert_int_equal(paragraph_rows(&canvas, "one two three", 8), 2);
    assert_int_equal(paragraph_rows(&canvas, "", 8), 1);
    assert_int_equal(paragraph_rows(&canvas, "   ", 8), 1);
    canvas_release(&canvas);
}

static void expect_path(const char *path, int cols, const char *want)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    struct canvas canvas;
    canvas_init(&canvas);
    paragraph_path(&got, &canvas, path, cols);
    assert_string_equal(got.buf, want);
    assert_true(canvas_str_columns(&canvas, got.buf, got.len) <= cols);
    canvas_release(&canvas);
}

TEST(paths_keep_their_name)
{
    expect_path("src/lines.c", 11, "src/lines.c");
    expect_path("src/very/deep/down/lines.c", 15, "src/ve…/lines.c");
    expect_path("src/very/deep/down/lines.c", 9, "…/lines.c");
    expect_path("src/very/deep/down/lines.c", 7, "lin…s.c");
    expect_path("a-name-without-folders.txt", 12, "a-nam…rs.txt");
    expect_path("dir/日本語日本語.txt", 10, "日本….txt");
    expect_path("x", 1, "x");
    expect_path("folder/", 4, "fo…/");
}
