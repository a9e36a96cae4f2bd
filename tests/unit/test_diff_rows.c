/* Tests of painted diffs. They compare the text of the canvas and, for looks, the role of a cell. */

#include "base/arena.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "event/event.h"
#include "panes/diff_rows.h"
#include "support/canvas_dump.h"
#include "support/event_json.h"
#include "support/test.h"
#include "tools/change.h"
#include <stdint.h>
#include <string.h>

struct rig {
    struct change_set *set;
    struct diff *diffs[4];
    struct diffview view;
    struct canvas canvas;
};

static void rig_init(struct rig *rig, int rows, int cols)
{
    *rig = (struct rig){.set = change_set_new()};
    diffview_init(&rig->view);
    canvas_init(&rig->canvas);
    canvas_resize(&rig->canvas, rows, cols);
}

static void add_file(struct rig *rig, const char *path, const char *old, mode_t old_mode, const char *new,
                     mode_t new_mode)
{
    struct change_set *set = rig->set;
    GROW(set->items, set->count, set->room);
    struct change *change = &set->items[set->count++];
    *change = (struct change){.path = xstrdup(path)};
    if (old)
        change_side_set(&change->old, old, strlen(old), old_mode);
    else
        change_side_absent(&change->old);
    if (new)
        change_side_set(&change->new, new, strlen(new), new_mode);
    else
        change_side_absent(&change->new);
}

static void rig_load(struct rig *rig)
{
    for (size_t i = 0; i < rig->set->count; i++)
        rig->diffs[i] = change_diff(&rig->set->items[i], NULL);
    diffview_load(&rig->view, rig->set, rig->diffs);
    rig->view.choices = true;
}

/* The files of a recorded proposal; text that cannot be read is a proposal without any. */
static void load_recorded(struct rig *rig, const char *files)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *line = xasprintf("{\"type\":\"write.proposed\",\"files\":%s}", files);
    struct event event;
    struct event_proposed_file_list none = {0};
    bool read = event_decode(&event, &arena, line, strlen(line), NULL) == 0;
    diffview_load_recorded(&rig->view, read ? &event.write_proposed.files : &none);
}

static void decide_partly(struct rig *rig, const char *hunks)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(free) char *line = xasprintf("{\"type\":\"write.decided\",\"hunks\":%s}", hunks);
    struct event event;
    assert_int_equal(event_decode(&event, &arena, line, strlen(line), NULL), 0);
    diffview_decide(&rig->view, "partial", &event.write_decided.hunks);
}

static void rig_release(struct rig *rig)
{
    for (size_t i = 0; i < rig->set->count; i++)
        diff_free(rig->diffs[i]);
    diffview_release(&rig->view);
    change_set_free(rig->set);
    canvas_release(&rig->canvas);
}

static struct rect whole(const struct rig *rig)
{
    return rect_make(0, 0, rig->canvas.rows, rig->canvas.cols);
}

static void expect(struct rig *rig, size_t top, int left, const char *want)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    canvas_clear(&rig->canvas);
    diffview_paint(&rig->view, &rig->canvas, whole(rig), top, left, 0, NULL);
    canvas_dump(&text, &rig->canvas, false);
    while (text.len && text.buf[text.len - 1] == '\n')
        strbuf_set_len(&text, text.len - 1);
    assert_string_equal(text.buf, want);
}

static enum look look_at(const struct rig *rig, int row, int col)
{
    return (enum look)rig->canvas.cells[row * rig->canvas.cols + col].look;
}

#define TWELVE "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n"

static void two_hunks(struct rig *rig)
{
    rig_init(rig, 20, 44);
    add_file(rig, "n.txt", TWELVE, 0644,
             "one\n2\nand a half\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\nELEVEN\ntwelve\n", 0644);
    rig_load(rig);
}

TEST(hunks_are_staged_and_discarded)
{
    struct rig rig;
    two_hunks(&rig);
    expect(&rig, 0, 0,
           "▸@@ line 1                        [x] stage\n"
           "   1   1    one\n"
           "   2      - two\n"
           "       2  + 2\n"
           "       3  + and a half\n"
           "   3   4    three\n"
           "   4   5    four\n"
           "   5   6    five\n"
           " @@ seven                         [x] stage\n"
           "   8   9    eight\n"
           "   9  10    nine\n"
           "  10  11    ten\n"
           "  11      - eleven\n"
           "      12  + ELEVEN\n"
           "  12  13    twelve");
    size_t added, removed;
    diffview_counts(&rig.view, &added, &removed);
    assert_int_equal(added, 3);
    assert_int_equal(removed, 2);
    /* The numbers of the second hunk are those the file would have without the first. */
    diffview_keep(&rig.view, 0, false);
    expect(&rig, 0, 0,
           "▸@@ line 1                      [ ] discard\n"
           "   1   1    one\n"
           "   2      - two\n"
           "          + 2\n"
           "          + and a half\n"
           "   3   3    three\n"
           "   4   4    four\n"
           "   5   5    five\n"
           " @@ seven                         [x] stage\n"
           "   8   8    eight\n"
           "   9   9    nine\n"
           "  10  10    ten\n"
           "  11      - eleven\n"
           "      11  + ELEVEN\n"
           "  12  12    twelve");
    assert_int_equal(look_at(&rig, 3, 12), LOOK_DIFF_DISCARDED);
    assert_int_equal(look_at(&rig, 13, 6), LOOK_DIFF_ADD_GUTTER);
    assert_int_equal(diffview_kept(&rig.view), 1);
    diffview_counts(&rig.view, &added, &removed);
    assert_int_equal(added, 1);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event_write_decided decided = {.hunks = diffview_hunks(&rig.view, &arena)};
    assert_string_equal(event_body_json(EVENT_WRITE_DECIDED, &decided, "hunks"),
                        "[{\"path\":\"n.txt\",\"keep\":[2],\"of\":2}]");
    rig_release(&rig);
}

/* A recorded decision shows the same, in words of the past; what was recorded is read back line by line. */
/* The last line that a write deletes may lack its newline; memory after the text is not part of it. */
TEST(losses_end_with_their_text)
{
    static const char loses[] = "its acl\nits user\0not this";
    struct rig rig;
    rig_init(&rig, 1, 1);
    add_file(&rig, "a", "1\n", 0644, "2\n", 0644);
    rig.set->items[0].loses = xmemdup0(loses, sizeof(loses));
    rig_load(&rig);
    assert_string_equal(rig.view.files[0].loses, "its acl, its user");
    rig_release(&rig);
}

TEST(a_recording_shows_the_same)
{
    struct rig rig;
    two_hunks(&rig);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    diff_write(&text, rig.diffs[0], "n.txt", true, true);
    struct diff *read = diff_read(text.buf, text.len);
    assert_int_equal(read->hunk_count, rig.diffs[0]->hunk_count);
    assert_int_equal(read->line_count, rig.diffs[0]->line_count);
    for (size_t i = 0; i < read->line_count; i++) {
        const struct diff_line *a = &read->lines[i], *b = &rig.diffs[0]->lines[i];
        assert_int_equal(a->origin, b->origin);
        assert_int_equal(a->old_no, b->old_no);
        assert_int_equal(a->new_no, b->new_no);
        assert_int_equal(a->len, b->len);
        assert_memory_equal(a->text, b->text, a->len);
        assert_int_equal(a->no_newline, b->no_newline);
    }
    for (size_t i = 0; i < read->hunk_count; i++) {
        assert_int_equal(read->hunks[i].old_count, rig.diffs[0]->hunks[i].old_count);
        assert_int_equal(read->hunks[i].new_start, rig.diffs[0]->hunks[i].new_start);
        assert_string_equal(read->hunks[i].heading, rig.diffs[0]->hunks[i].heading);
    }
    diff_free(read);
    load_recorded(&rig,
                  "[{\"path\":\"n.txt\",\"old_digest\":\"1\",\"new_digest\":\"2\",\"diff\":"
                  "\"--- a/n.txt\\n+++ b/n.txt\\n@@ -1,2 +1,2 @@ f\\n-a\\n+b\\n c\\n@@ -9 +9 @@\\n--- x\\n+y\\n\"}]");
    decide_partly(&rig, "[{\"path\":\"n.txt\",\"keep\":[2],\"of\":2}]");
    rig.view.choices = false;
    expect(&rig, 0, 0,
           "▸@@ f                             discarded\n"
           "   1      - a\n"
           "          + b\n"
           "   2   2    c\n"
           " @@ line 9                         approved\n"
           "   9      - -- x\n"
           "       9  + y");
    rig_release(&rig);
}

TEST(hostile_text_is_spelled_out)
{
    struct rig rig;
    rig_init(&rig, 8, 60);
    add_file(&rig, "x", "a\n", 0644, "\xE2\x80\xAEgnp.exe\x1B[31m\r\nok\xFF\te\xCC\x81!\rz\n", 0644);
    rig_load(&rig);
    expect(&rig, 0, 0,
           "▸@@ line 1                                        [x] stage\n"
           "   1      - a\n"
           "       1  + <U+202E>gnp.exe^[[31m^M\n"
           "       2  + ok\xEF\xBF\xBD→    e\xCC\x81!^Mz");
    assert_int_equal(look_at(&rig, 2, 12), LOOK_DIFF_HOSTILE);
    assert_int_equal(look_at(&rig, 2, 20), LOOK_DIFF_ADD);
    assert_int_equal(look_at(&rig, 2, 27), LOOK_DIFF_HOSTILE);
    assert_int_equal(look_at(&rig, 2, 33), LOOK_DIFF_GUTTER); /* CR before the LF */
    assert_int_equal(look_at(&rig, 3, 14), LOOK_DIFF_HOSTILE);
    assert_int_equal(look_at(&rig, 3, 22), LOOK_DIFF_HOSTILE); /* CR within the line */
    rig_release(&rig);
}

/* It is written as it is: the change set keeps it. */
TEST(secrets_are_not_shown)
{
    struct rig rig;
    redact_add("API_KEY", "sk-live-0123456789");
    rig_init(&rig, 6, 60);
    add_file(&rig, "conf", "key = none\n", 0644, "key = sk-live-0123456789;\n", 0644);
    rig_load(&rig);
    diffview_arrange(&rig.view, false, false);
    diffview_paint(&rig.view, &rig.canvas, rect_make(0, 0, 6, 60), 0, 0, SIZE_MAX, NULL);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    canvas_dump(&text, &rig.canvas, false);
    assert_non_null(strstr(text.buf, "+ key = [secret API_KEY];"));
    assert_null(strstr(text.buf, "sk-live"));
    assert_non_null(strstr(rig.set->items[0].new.bytes, "sk-live-0123456789"));
    rig_release(&rig);
    redact_forget();
}

TEST(long_lines_and_missing_newlines_say_so)
{
    struct rig rig;
    rig_init(&rig, 4, 50);
    add_file(&rig, "x", "short\n", 0644, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 0644);
    rig_load(&rig);
    expect(&rig, 0, 0,
           "▸@@ line 1                              [x] stage\n"
           "   1      - short\n"
           "       1  + 0123456789abc (no newline at the end)…");
    expect(&rig, 0, 40,
           "▸@@ line 1                              [x] stage\n"
           "   1      -\n"
           "       1  + EFGHIJKLMNOPQR (no newline at the end)");
    expect(&rig, 0, 56,
           "▸@@ line 1                              [x] stage\n"
           "   1      -\n"
           "       1  + UVWXYZ (no newline at the end)");
    rig_release(&rig);
}

TEST(words_are_marked)
{
    struct rig rig;
    rig_init(&rig, 4, 40);
    add_file(&rig, "x", "int count = 1;\n", 0644, "int amount = 1;\n", 0644);
    rig_load(&rig);
    diffview_paint(&rig.view, &rig.canvas, whole(&rig), 0, 0, SIZE_MAX, NULL);
    assert_int_equal(look_at(&rig, 1, 12), LOOK_DIFF_REMOVE);
    assert_int_equal(look_at(&rig, 1, 16), LOOK_DIFF_REMOVE_WORD);
    assert_int_equal(look_at(&rig, 2, 16), LOOK_DIFF_ADD_WORD);
    assert_int_equal(look_at(&rig, 2, 21), LOOK_DIFF_ADD_WORD);
    assert_int_equal(look_at(&rig, 2, 22), LOOK_DIFF_ADD);
    rig_release(&rig);
}

TEST(files_that_are_new_gone_binary_or_of_another_mode)
{
    struct rig rig;
    rig_init(&rig, 20, 60);
    add_file(&rig, "new.sh", NULL, 0, "echo\n", 0755);
    add_file(&rig, "old.c", "x\n", 0644, NULL, 0);
    add_file(&rig, "run", "y\n", 0644, "y\n", 0755);
    add_file(&rig, "empty", NULL, 0, "", 0644);
    rig_load(&rig);
    diffview_arrange(&rig.view, true, false);
    expect(&rig, 0, 0,
           " new.sh                                               +1 −0\n"
           " new file, executable (mode 755)\n"
           "▸@@ line 1                                        [x] stage\n"
           "       1  + echo\n"
           "\n"
           " old.c                                                +0 −1\n"
           " deleted\n"
           " @@ line 1                                        [x] stage\n"
           "   1      - x\n"
           "\n"
           " run                                                  +0 −0\n"
           " mode 644 becomes 755                             [x] stage\n"
           "\n"
           " empty                                                +0 −0\n"
           " new file, empty                                  [x] stage");
    for (size_t i = 0; i < rig.view.piece_count; i++)
        assert_int_equal(diffview_piece_at(&rig.view, diffview_row_of(&rig.view, i)), i);
    rig_release(&rig);
    rig_init(&rig, 4, 70);
    struct change_set *set = rig.set;
    add_file(&rig, "logo.png", "xx", 0644, "y", 0644);
    change_side_set(&set->items[0].new, "\0\1\2", 3, 0644);
    rig_load(&rig);
    expect(&rig, 0, 0, "▸binary, all or nothing: 2 bytes become 3 bytes             [x] stage");
    rig_release(&rig);
    rig_init(&rig, 4, 70);
    set = rig.set;
    add_file(&rig, "logo.png", NULL, 0, "y", 0644);
    change_side_set(&set->items[0].new, "\0", 1, 0644);
    rig_load(&rig);
    expect(&rig, 0, 0, "▸new file · binary, all or nothing: nothing becomes 1 byte  [x] stage");
    rig_release(&rig);
    rig_init(&rig, 4, 70);
    set = rig.set;
    add_file(&rig, "logo.png", "x", 0644, NULL, 0);
    change_side_set(&set->items[0].old, "\0", 1, 0644);
    rig_load(&rig);
    expect(&rig, 0, 0, "▸deleted · binary, all or nothing: 1 byte becomes nothing   [x] stage");
    rig_release(&rig);
}

/* One half of a move would lose a file or duplicate it. */
TEST(a_move_is_kept_or_dropped_as_one)
{
    struct rig rig;
    rig_init(&rig, 12, 60);
    add_file(&rig, "sub/run.sh", NULL, 0, "echo\n", 0755);
    add_file(&rig, "run.sh", "echo\n", 0755, NULL, 0);
    add_file(&rig, "other", NULL, 0, "more\n", 0644);
    rig_load(&rig);
    diffview_arrange(&rig.view, true, false);
    diffview_keep(&rig.view, 1, false);
    expect(&rig, 0, 0,
           " sub/run.sh                                           +1 −0\n"
           " new file, executable (mode 755) · moved from run.sh\n"
           "▸@@ line 1                                      [ ] discard\n"
           "          + echo\n"
           "\n"
           " run.sh                                               +0 −1\n"
           " deleted · moved to sub/run.sh\n"
           " @@ line 1                                      [ ] discard\n"
           "   1      - echo\n"
           "\n"
           " other                                                +1 −0\n"
           " new file");
    assert_int_equal(diffview_kept(&rig.view), 1);
    diffview_keep(&rig.view, 0, true);
    assert_int_equal(diffview_kept(&rig.view), 3);
    rig_release(&rig);
    rig_init(&rig, 4, 60);
    load_recorded(&rig, "[{\"path\":\"b\",\"old_digest\":\"absent\",\"new_digest\":\"d\",\"diff\":\"\"},"
                        "{\"path\":\"a\",\"old_digest\":\"d\",\"new_digest\":\"absent\",\"diff\":\"\"}]");
    assert_int_equal(rig.view.files[0].moved, 1);
    assert_int_equal(rig.view.files[1].moved, 0);
    rig_release(&rig);
}

/* Painting a screen of a very long diff touches only the visible rows. */
TEST(long_diff_paints_only_visible_rows)
{
    struct rig rig;
    CLEANUP(strbuf) struct strbuf new = STRBUF_INIT;
    rig_init(&rig, 40, 100);
    for (int i = 0; i < 100000; i++)
        strbuf_addf(&new, "line %d\n", i);
    add_file(&rig, "long", NULL, 0, new.buf, 0644);
    rig_load(&rig);
    assert_int_equal(diffview_rows(&rig.view), 100002);
    /* Only the visible lines are read: the pointers of the others are invalid. */
    struct diff *diff = rig.diffs[0];
    struct diff_line *lines = diff->lines;
    struct diff_line *few = xcalloc(diff->line_count, sizeof(*few));
    memcpy(few + 98000, lines + 98000, 2000 * sizeof(*few));
    diff->lines = few;
    diffview_paint(&rig.view, &rig.canvas, whole(&rig), 99900, 0, SIZE_MAX, NULL);
    assert_int_equal(look_at(&rig, 0, 16), LOOK_DIFF_ADD);
    diff->lines = lines;
    free(few);
    size_t row = 5;
    assert_true(diffview_search(&rig.view, "LINE 99990", false, &row) == false);
    assert_true(diffview_search(&rig.view, "line 99990", false, &row));
    assert_int_equal(row, 99992);
    assert_true(diffview_search(&rig.view, "line 7", true, &row));
    rig_release(&rig);
}

/* A truncated diff is shown as far as it goes, reports what is missing, and can only be approved as a whole. */
TEST(truncated_diff_is_all_or_nothing)
{
    struct rig rig;
    rig_init(&rig, 6, 70);
    load_recorded(&rig, "[{\"path\":\"n\",\"old_digest\":\"1\",\"new_digest\":\"2\",\"added\":7,\"removed\":8,\"diff\":"
                        "\"@@ -1 +1 @@ f\\n-a\\n+b\\n\\\\ Too large to be shown whole: 7 lines added\\n\"}]");
    rig.view.choices = true;
    diffview_keep(&rig.view, 0, false);
    expect(&rig, 0, 0,
           " too large to show in full, all or nothing: +7 −8\n"
           "▸@@ f\n"
           "   1      - a\n"
           "       1  + b");
    assert_int_equal(diffview_kept(&rig.view), rig.view.piece_count);
    rig_release(&rig);
}

/* Recordings may hold anything. */
TEST(any_text_is_read)
{
    static const char *texts[] = {"",
                                  "@@",
                                  "@@ -999999999999999999,1 +0 @@\n+a\n-b\n c\n",
                                  "+a\n@@ -1 +1 @@\n\\ no\n\\ no\n",
                                  "@@\n@@\n+",
                                  "@@ -2147483647 +2147483647 @@\n a\n b\n c\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct diff *diff = diff_read(texts[i], strlen(texts[i]));
        assert_non_null(diff);
        diff_free(diff);
    }
    struct rig rig;
    rig_init(&rig, 5, 60);
    const char *files[] = {"nonsense", "[]", "[1,null]", "[{\"path\":\"a\",\"diff\":null}]", "{}"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        load_recorded(&rig, files[i]);
        decide_partly(&rig, "[{\"path\":\"a\",\"keep\":[0,9,-1,\"x\"]}]");
        diffview_paint(&rig.view, &rig.canvas, whole(&rig), 0, 0, 0, "x");
    }
    rig_release(&rig);
}
