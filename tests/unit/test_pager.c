/* Tests of files that are read only as far as the user scrolls. */

#include "base/mem.h"
#include "screen/pager.h"
#include "support/scratch.h"
#include "support/test.h"
#include <string.h>
#include <sys/stat.h>

static struct pager *open_text(struct scratch *scratch, const char *text, size_t len)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = scratch_path(scratch, "art_1.txt");
    scratch_write_bytes(scratch, "art_1.txt", text, len);
    struct pager *pager = pager_open(path, &err);
    assert_non_null(pager);
    return pager;
}

static void assert_line(struct pager *pager, size_t line, const char *want)
{
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    assert_true(pager_line(pager, line, &got));
    assert_string_equal(got.buf, want);
}

TEST(lines_are_found_a_piece_at_a_time)
{
    struct scratch scratch;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    scratch_init(&scratch);
    for (int i = 0; i < 100000; i++)
        strbuf_addf(&text, "line %d%s\n", i, i % 1000 ? "" : " thousand");
    strbuf_addstr(&text, "without an end");
    struct pager *pager = open_text(&scratch, text.buf, text.len);
    assert_int_equal(pager_lines(pager), 0);
    assert_true(pager_work(pager, 1000));
    size_t some = pager_lines(pager);
    assert_true(some > 50 && some < 1000);
    while (pager_work(pager, 65536))
        ;
    assert_int_equal(pager_lines(pager), 100001);
    assert_line(pager, 0, "line 0 thousand");
    assert_line(pager, 99999, "line 99999");
    assert_line(pager, 127, "line 127");
    assert_line(pager, 128, "line 128");
    assert_line(pager, 100000, "without an end");
    CLEANUP(strbuf) struct strbuf none = STRBUF_INIT;
    assert_false(pager_line(pager, 100001, &none));
    size_t line = 10;
    assert_true(pager_search(pager, "thousand", false, &line));
    assert_int_equal(line, 1000);
    assert_true(pager_search(pager, "thousand", true, &line));
    assert_int_equal(line, 0);
    assert_true(pager_search(pager, "thousand", true, &line));
    assert_int_equal(line, 99000);
    assert_false(pager_search(pager, "million", false, &line));
    pager_close(pager);
    scratch_release(&scratch);
}

TEST(long_lines_and_nothing_at_all)
{
    struct scratch scratch;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    scratch_init(&scratch);
    struct pager *pager = open_text(&scratch, "", 0);
    assert_false(pager_work(pager, 1000));
    assert_int_equal(pager_lines(pager), 0);
    pager_close(pager);
    for (int i = 0; i < 300000; i++)
        strbuf_addch(&text, 'x');
    strbuf_addstr(&text, "\n\nafter\n");
    pager = open_text(&scratch, text.buf, text.len);
    while (pager_work(pager, 1000))
        ;
    assert_int_equal(pager_lines(pager), 3);
    CLEANUP(strbuf) struct strbuf got = STRBUF_INIT;
    assert_true(pager_line(pager, 0, &got));
    assert_int_equal(got.len, PAGER_LINE_MAX);
    assert_line(pager, 1, "");
    assert_line(pager, 2, "after");
    pager_close(pager);
    scratch_release(&scratch);
}

/* A recording can name anything: a path that would block or is not a file is not opened. */
TEST(only_files_are_opened)
{
    struct scratch scratch;
    struct err err = ERR_INIT;
    scratch_init(&scratch);
    CLEANUP(free) char *fifo = scratch_path(&scratch, "art_fifo.txt");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_null(pager_open(fifo, &err));
    assert_null(pager_open(scratch.path, &err));
    CLEANUP(free) char *missing = scratch_path(&scratch, "art_none.txt");
    assert_null(pager_open(missing, &err));
    scratch_release(&scratch);
}
