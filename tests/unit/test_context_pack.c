/* The context pack over real folders. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "support/scratch.h"
#include "support/test.h"
#include "turn/context_pack.h"
#include <sys/stat.h>

struct fixture {
    struct scratch dir;
    struct beneath *root;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct err err = ERR_INIT;
    scratch_init(&f->dir);
    f->root = beneath_open(f->dir.path, &err);
    if (!f->root)
        fail_msg("%s", err.text);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    beneath_close(f->root);
    scratch_release(&f->dir);
    free(f);
    return 0;
}

static void put(struct fixture *f, const char *path, const char *text)
{
    scratch_write(&f->dir, path, text);
}

/* The paths of a pack, as "a b c". */
static char *paths(const struct context_pack *pack)
{
    struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < pack->count; i++)
        strbuf_addf(&out, "%s%s", i ? " " : "", pack->items[i].path);
    return strbuf_detach(&out, NULL);
}

static void assert_pack(struct fixture *f, const char *prompt, size_t limit, const char *expected)
{
    struct context_pack pack = context_load(f->root, prompt, limit, NULL);
    CLEANUP(free) char *got = paths(&pack);
    assert_string_equal(got, expected);
    assert_true(pack.complete);
    context_pack_release(&pack);
    assert_null(pack.items);
}

TEST_WITH(the_best_files_come_first, setup, teardown)
{
    struct fixture *f = *state;
    put(f, "src/lines.c", "int lines_next(void) { return newline; }\n");
    put(f, "src/other.c", "int other(void) { return 1; }\n");
    put(f, "doc/notes.txt", "newline newline newline lines next newline\n");
    put(f, "newline.md", "nothing here\n");
    assert_pack(f, "the newline in lines_next is lost", 8, "src/lines.c doc/notes.txt newline.md");
    assert_pack(f, "the newline in lines_next is lost", 1, "src/lines.c");
    assert_pack(f, "the newline in lines_next is lost", 0, "");
    assert_pack(f, "elephants", 8, "");
}

TEST_WITH(equal_scores_are_sorted_by_name, setup, teardown)
{
    struct fixture *f = *state;
    static const char *const names[] = {"z.c", "b/x.c", "a/x.c", "B.c", "a/b/c/x.c"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        put(f, names[i], "apple\n");
    put(f, "else.c", "pear\n");
    /* Near the root first, then names by bytes. A longer path is a longer text and counts a little less. */
    struct context_pack first = context_load(f->root, "apple", 8, NULL);
    struct context_pack again = context_load(f->root, "apple", 8, NULL);
    CLEANUP(free) char *one = paths(&first), *two = paths(&again);
    assert_string_equal(one, two);
    assert_string_equal(one, "B.c z.c a/x.c b/x.c a/b/c/x.c");
    context_pack_release(&first);
    context_pack_release(&again);
}

TEST_WITH(only_texts_of_the_workspace_are_included, setup, teardown)
{
    struct fixture *f = *state;
    CLEANUP(free) char *big = xmalloc(CONTEXT_FILE_BYTES_MAX + 1);
    memset(big, ' ', CONTEXT_FILE_BYTES_MAX + 1);
    memcpy(big, "secret ", 7);
    put(f, "seen.txt", "secret\n");
    put(f, ".git/config", "secret\n");
    put(f, ".hidden/a.txt", "secret\n");
    put(f, ".env", "secret=1\n");
    put(f, "src/.git/a.txt", "secret\n");
    scratch_write_bytes(&f->dir, "binary.bin", "secret\0secret", 13);
    scratch_write_bytes(&f->dir, "big.txt", big, CONTEXT_FILE_BYTES_MAX + 1);
    scratch_write_bytes(&f->dir, "fits.txt", big, CONTEXT_FILE_BYTES_MAX);
    put(f, "empty.txt", "");
    CLEANUP(free) char *link = scratch_path(&f->dir, "link.txt");
    CLEANUP(free) char *folder = scratch_path(&f->dir, "folder");
    CLEANUP(free) char *pipe = scratch_path(&f->dir, "pipe");
    assert_int_equal(symlink("seen.txt", link), 0);
    assert_int_equal(symlink("..", folder), 0);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_pack(f, "secret", 8, "fits.txt seen.txt");
}

static struct context_item only_item(struct fixture *f, const char *prompt)
{
    struct context_pack pack = context_load(f->root, prompt, 1, NULL);
    assert_int_equal(pack.count, 1);
    struct context_item item = pack.items[0];
    free(pack.items);
    return item;
}

static void item_release(struct context_item *item)
{
    free(item->path);
    free(item->excerpt);
}

TEST_WITH(an_excerpt_holds_whole_lines_around_the_hit, setup, teardown)
{
    struct fixture *f = *state;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < 200; i++)
        strbuf_addf(&text, i == 100 ? "here is the needle\n" : "line number %d of the hay\n", i);
    put(f, "a.txt", text.buf);
    struct context_item item = only_item(f, "needle");
    size_t len = strlen(item.excerpt);
    assert_true(len <= 400 && len > 300);
    assert_non_null(strstr(item.excerpt, "\nhere is the needle\n"));
    CLEANUP(free) char *framed = xasprintf("\n%s\n", item.excerpt);
    assert_non_null(strstr(text.buf, framed)); /* begins and ends with a line */
    item_release(&item);

    put(f, "a.txt", "needle first\nand more\n");
    item = only_item(f, "needle");
    assert_string_equal(item.excerpt, "needle first\nand more");
    item_release(&item);
}

TEST_WITH(an_excerpt_of_one_endless_line_is_cut_between_characters, setup, teardown)
{
    struct fixture *f = *state;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int i = 0; i < 3000; i++)
        strbuf_addstr(&text, i == 1501 ? " needle " : "\xe2\x82\xac");
    put(f, "a.txt", text.buf);
    struct context_item item = only_item(f, "needle");
    assert_true(strlen(item.excerpt) <= 400);
    assert_non_null(strstr(item.excerpt, " needle "));
    assert_true(utf8_valid(item.excerpt, strlen(item.excerpt)));
    /* No character in the middle was cut; only the last one may be. */
    assert_memory_equal(item.excerpt, "\xe2\x82\xac", 3);
    item_release(&item);
}

TEST_WITH(an_excerpt_is_scrubbed_and_still_small, setup, teardown)
{
    struct fixture *f = *state;
    char bytes[1000];
    memset(bytes, 0xff, sizeof(bytes));
    memcpy(bytes + 500, " needle ", 8);
    scratch_write_bytes(&f->dir, "a.txt", bytes, sizeof(bytes));
    struct context_item item = only_item(f, "needle");
    assert_true(strlen(item.excerpt) <= 400);
    assert_true(utf8_valid(item.excerpt, strlen(item.excerpt)));
    item_release(&item);
}

TEST_WITH(a_hit_in_the_path_alone_shows_the_beginning, setup, teardown)
{
    struct fixture *f = *state;
    put(f, "needle.txt", "first line\nsecond line\n");
    struct context_item item = only_item(f, "needle");
    assert_string_equal(item.path, "needle.txt");
    assert_string_equal(item.excerpt, "first line\nsecond line");
    item_release(&item);
}

TEST_WITH(without_words_nothing_is_searched, setup, teardown)
{
    struct fixture *f = *state;
    put(f, "a.txt", "apple\n");
    assert_pack(f, "", 8, "");
    assert_pack(f, "?!", 8, "");
    struct context_pack pack = context_load(NULL, "apple", 8, NULL);
    assert_int_equal(pack.count, 0);
    context_pack_release(&pack);
    pack = context_load(f->root, NULL, 8, NULL);
    assert_int_equal(pack.count, 0);
    context_pack_release(&pack);
}

TEST_WITH(a_canceled_search_is_not_complete, setup, teardown)
{
    struct fixture *f = *state;
    atomic_bool cancelled = true;
    put(f, "a.txt", "apple\n");
    struct context_pack pack = context_load(f->root, "apple", 8, &cancelled);
    assert_int_equal(pack.count, 0);
    assert_false(pack.complete);
    context_pack_release(&pack);
}

TEST_WITH(too_many_files_are_not_complete, setup, teardown)
{
    struct fixture *f = *state;
    for (int i = 0; i < CONTEXT_FILES_MAX + 5; i++) {
        CLEANUP(free) char *name = xasprintf("d/%05d.txt", i);
        put(f, name, i == 3 || i == CONTEXT_FILES_MAX + 3 ? "apple\n" : "pear\n");
    }
    put(f, "near.txt", "apple\n");
    struct context_pack pack = context_load(f->root, "apple", 8, NULL);
    CLEANUP(free) char *got = paths(&pack);
    assert_string_equal(got, "near.txt d/00003.txt");
    assert_false(pack.complete);
    context_pack_release(&pack);
}

TEST(packs_are_written_for_the_event)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct context_item items[] = {{.path = (char *)"a \"b\".c", .excerpt = (char *)"x\ny", .score = 1.5}};
    struct context_pack pack = {.items = items, .count = 1};
    context_pack_write(&out, &pack);
    assert_string_equal(out.buf, "[{\"path\":\"a \\\"b\\\".c\",\"excerpt\":\"x\\ny\",\"score\":1.5}]");
    strbuf_reset(&out);
    pack.count = 0;
    context_pack_write(&out, &pack);
    assert_string_equal(out.buf, "[]");
}
