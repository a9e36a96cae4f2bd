/* Tests of differences: they look like git's, and any choice of hunks applies. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "support/test.h"
#include "tools/diff.h"
#include <pthread.h>
#include <stdio.h>

static struct diff *diff_of(const char *old, const char *new)
{
    struct err err = ERR_INIT;
    struct diff *diff = diff_new("f.c", old, old ? strlen(old) : 0, new, new ? strlen(new) : 0, &err);
    if (!diff)
        fail_msg("%s", err.text);
    return diff;
}

static void expect_written(const char *old, const char *new, const char *expected)
{
    struct diff *diff = diff_of(old, new);
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    diff_write(&out, diff, "f.c", old != NULL, new != NULL);
    assert_string_equal(out.buf, expected);
    diff_free(diff);
}

TEST(written_as_git_does)
{
    expect_written("a\nb\nc\n", "a\nB\nc\n", "--- a/f.c\n+++ b/f.c\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    expect_written("a\n", "a\n", "");
    expect_written("", "", "");
    expect_written(NULL, "a\nb\n", "--- /dev/null\n+++ b/f.c\n@@ -0,0 +1,2 @@\n+a\n+b\n");
    expect_written("", "a\n", "--- a/f.c\n+++ b/f.c\n@@ -0,0 +1 @@\n+a\n");
    expect_written("a\nb\n", NULL, "--- a/f.c\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n");
    expect_written("a\n", "", "--- a/f.c\n+++ b/f.c\n@@ -1 +0,0 @@\n-a\n");
    expect_written(NULL, "", "");
    expect_written("a", "a\n", "--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    expect_written("a\n", "a", "--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
    expect_written("x\na", "y\na", "--- a/f.c\n+++ b/f.c\n@@ -1,2 +1,2 @@\n-x\n+y\n a\n\\ No newline at end of file\n");
    expect_written("a\r\n", "a\n", "--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-a\r\n+a\n");
    expect_written("a", "b",
                   "--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"
                   "\\ No newline at end of file\n");
}

TEST(lines_point_into_the_texts)
{
    static const char old[] = "one\ntwo\nthree", new[] = "one\n2\nthree";
    struct diff *diff = diff_of(old, new);
    assert_int_equal(diff->hunk_count, 1);
    assert_int_equal(diff->line_count, 4);
    assert_int_equal(diff->added, 1);
    assert_int_equal(diff->removed, 1);
    static const struct {
        char origin;
        int old_no, new_no;
        const char *text;
    } expected[] = {{' ', 1, 1, "one"}, {'-', 2, 0, "two"}, {'+', 0, 2, "2"}, {' ', 3, 3, "three"}};
    for (size_t i = 0; i < 4; i++) {
        const struct diff_line *line = &diff->lines[i];
        assert_int_equal(line->origin, expected[i].origin);
        assert_int_equal(line->old_no, expected[i].old_no);
        assert_int_equal(line->new_no, expected[i].new_no);
        assert_int_equal(line->len, strlen(expected[i].text));
        assert_memory_equal(line->text, expected[i].text, line->len);
        assert_int_equal(line->no_newline, i == 3);
        bool in_old = line->text >= old && line->text < old + sizeof(old);
        bool in_new = line->text >= new && line->text < new + sizeof(new);
        assert_true(in_old || in_new);
    }
    diff_free(diff);
}

TEST(hunks_have_their_function_as_heading)
{
    struct diff *diff = diff_of("int main(void)\n{\n  a;\n  b;\n  c;\n  d;\n  e;\n}\n",
                                "int main(void)\n{\n  a;\n  b;\n  c;\n  d;\n  E;\n}\n");
    assert_int_equal(diff->hunk_count, 1);
    assert_string_equal(diff->hunks[0].heading, "int main(void)");
    assert_int_equal(diff->hunks[0].old_start, 4);
    diff_free(diff);
    diff = diff_of("a\n", "b\n");
    assert_string_equal(diff->hunks[0].heading, "");
    diff_free(diff);
}

TEST(binary_files_have_no_hunks)
{
    struct err err = ERR_INIT;
    struct diff *diff = diff_new("x.bin", "a\0b", 3, "a\0c", 3, &err);
    assert_non_null(diff);
    assert_true(diff->binary);
    assert_int_equal(diff->hunk_count, 0);
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    diff_write(&out, diff, "x.bin", true, true);
    assert_string_equal(out.buf, "Binary files a/x.bin and b/x.bin differ\n");
    diff_free(diff);
    diff = diff_new("x.bin", NULL, 0, "a\0c", 3, &err);
    assert_true(diff->binary);
    diff_free(diff);
    diff = diff_new("x.bin", "a\0c", 3, NULL, 0, &err);
    assert_true(diff->binary);
    diff_free(diff);
    diff = diff_new("latin", "\xe9t\xe9\n", 4, "\xe9t\xe8\n", 4, &err);
    assert_false(diff->binary);
    assert_int_equal(diff->added, 1);
    diff_free(diff);
}

TEST(strange_names)
{
    static const char *const names[][2] = {
        {"a b", "--- a/a b\t\n+++ b/a b\t\n"},
        {"a\nb", "--- \"a/a\\nb\"\n+++ \"b/a\\nb\"\n"},
        {"q\"\\\x1b", "--- \"a/q\\\"\\\\\\033\"\n+++ \"b/q\\\"\\\\\\033\"\n"},
        {"\xc3\xa9", "--- a/\xc3\xa9\n+++ b/\xc3\xa9\n"},
    };
    struct diff *diff = diff_of("a\n", "b\n");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        diff_write(&out, diff, names[i][0], true, true);
        assert_memory_equal(out.buf, names[i][1], strlen(names[i][1]));
    }
    diff_free(diff);
}

/* Random texts. A small generator of our own, so that a failure comes back. */

static uint32_t seed;

static uint32_t roll(uint32_t sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % sides;
}

enum flavour { UNIQUE_LINES, FEW_LINES };

static void add_line(struct strbuf *text, enum flavour flavour, uint32_t *number)
{
    static const char *const few[] = {"", "}", "int f(void)", "    return;", "x", "\ty"};
    if (flavour == UNIQUE_LINES)
        strbuf_addf(text, "%sline %u", roll(4) ? "  " : "", (*number)++);
    else
        strbuf_addstr(text, few[roll(COUNT_OF(few))]);
    strbuf_addstr(text, roll(20) ? "\n" : "\r\n");
}

/* Two texts that share most of their lines; either may lack its last newline. */
static void make_texts(struct strbuf *old, struct strbuf *new, enum flavour flavour)
{
    uint32_t number = 0, lines = roll(60);
    for (uint32_t i = 0; i < lines; i++) {
        size_t before = old->len;
        switch (roll(12)) {
        case 0:
            add_line(old, flavour, &number);
            break;
        case 1:
            add_line(new, flavour, &number);
            break;
        case 2:
            add_line(old, flavour, &number);
            add_line(new, flavour, &number);
            break;
        default:
            add_line(old, flavour, &number);
            strbuf_add(new, old->buf + before, old->len - before);
        }
    }
    if (old->len && roll(3) == 0)
        strbuf_set_len(old, old->len - 1);
    if (new->len && roll(3) == 0)
        strbuf_set_len(new, new->len - 1);
}

static bool same_hunk(const struct diff *a, const struct diff_hunk *x, const struct diff *b, const struct diff_hunk *y)
{
    if (x->old_start != y->old_start || x->old_count != y->old_count || x->new_count != y->new_count ||
        x->line_count != y->line_count)
        return false;
    for (size_t i = 0; i < x->line_count; i++) {
        const struct diff_line *l = &a->lines[x->first_line + i], *r = &b->lines[y->first_line + i];
        if (l->origin != r->origin || l->old_no != r->old_no || l->len != r->len || l->no_newline != r->no_newline ||
            memcmp(l->text, r->text, l->len) != 0)
            return false;
    }
    return true;
}

/* Builds the expected result the slow way: every old line, unless a chosen hunk changes it. */
static void apply_slowly(struct strbuf *out, const struct diff *diff, const char *old, size_t len, const bool *keep)
{
    int number = 0;
    for (const char *at = old, *end = old + len; at <= end;) {
        for (size_t h = 0; h < diff->hunk_count; h++) {
            const struct diff_hunk *hunk = &diff->hunks[h];
            for (size_t i = 0; keep[h] && i < hunk->line_count; i++) {
                const struct diff_line *line = &diff->lines[hunk->first_line + i];
                /* An added line comes after the old lines that precede it in its hunk. */
                int after = hunk->old_count ? hunk->old_start - 1 : hunk->old_start;
                for (size_t k = 0; k < i; k++)
                    after += diff->lines[hunk->first_line + k].origin != '+';
                if (line->origin == '+' && after == number)
                    strbuf_add(out, line->text, line->len + !line->no_newline);
            }
        }
        if (at == end)
            break;
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        number++;
        bool removed = false;
        for (size_t h = 0; h < diff->hunk_count; h++)
            for (size_t i = 0; keep[h] && i < diff->hunks[h].line_count; i++) {
                const struct diff_line *line = &diff->lines[diff->hunks[h].first_line + i];
                removed |= line->origin == '-' && line->old_no == number;
            }
        if (!removed)
            strbuf_add(out, at, (size_t)(next - at));
        at = next;
    }
}

static void check_choice(const struct strbuf *old, const struct strbuf *new, const struct diff *diff, const bool *keep,
                         enum flavour flavour)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, slow = STRBUF_INIT;
    size_t chosen = 0;
    for (size_t i = 0; i < diff->hunk_count; i++)
        chosen += keep[i];
    diff_apply(&text, diff, old->buf, old->len, keep);
    apply_slowly(&slow, diff, old->buf, old->len, keep);
    assert_int_equal(text.len, slow.len);
    assert_memory_equal(text.buf, slow.buf, slow.len);
    if (chosen == 0 || chosen == diff->hunk_count) {
        const struct strbuf *side = chosen == 0 && diff->hunk_count ? old : new;
        assert_int_equal(text.len, side->len);
        assert_memory_equal(text.buf, side->buf, side->len);
    }
    if (flavour != UNIQUE_LINES)
        return; /* where lines repeat, another diff may be equally short */
    struct err err = ERR_INIT;
    struct diff *again = diff_new("f.c", old->buf, old->len, text.buf, text.len, &err);
    assert_non_null(again);
    assert_int_equal(again->hunk_count, chosen);
    size_t next = 0;
    for (size_t i = 0; i < diff->hunk_count; i++)
        if (keep[i])
            assert_true(same_hunk(diff, &diff->hunks[i], again, &again->hunks[next++]));
    diff_free(again);
}

static void check_choices(enum flavour flavour, uint32_t first_seed)
{
    for (uint32_t round = 0; round < 300; round++) {
        seed = first_seed + round;
        CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
        make_texts(&old, &new, flavour);
        struct err err = ERR_INIT;
        struct diff *diff = diff_new("f.c", old.buf, old.len, new.buf, new.len, &err);
        assert_non_null(diff);
        bool keep[32] = {0};
        assert_true(diff->hunk_count < COUNT_OF(keep));
        uint32_t all = diff->hunk_count <= 7 ? 1u << diff->hunk_count : 128;
        for (uint32_t choice = 0; choice < all; choice++) {
            for (size_t i = 0; i < diff->hunk_count; i++)
                keep[i] = diff->hunk_count <= 7 ? choice >> i & 1 : roll(2);
            check_choice(&old, &new, diff, keep, flavour);
        }
        diff_free(diff);
    }
}

TEST(every_choice_of_hunks)
{
    check_choices(UNIQUE_LINES, 1000);
}

TEST(every_choice_with_repeated_lines)
{
    check_choices(FEW_LINES, 5000);
}

/* What git itself prints from the first hunk on; the caller's. */
static char *git_says(const struct scratch *files)
{
    CLEANUP(free)
    char *command = xasprintf("cd '%s' && GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null "
                              "git diff --no-index --no-color --no-ext-diff old.txt new.txt",
                              files->path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    assert_int_equal(strbuf_read(&out, fileno(pipe), 0), 0);
    int status = pclose(pipe);
    assert_true(status == 0 || status == 256);
    const char *hunks = strstr(out.buf, "\n@@ ");
    return xstrdup(hunks ? hunks + 1 : "");
}

TEST(same_as_git)
{
    struct scratch files;
    scratch_init(&files);
    for (uint32_t round = 0; round < 40; round++) {
        seed = 90000 + round;
        CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT, ours = STRBUF_INIT;
        make_texts(&old, &new, round % 2 ? FEW_LINES : UNIQUE_LINES);
        scratch_write_bytes(&files, "old.txt", old.buf, old.len);
        scratch_write_bytes(&files, "new.txt", new.buf, new.len);
        struct err err = ERR_INIT;
        struct diff *diff = diff_new("f.txt", old.buf, old.len, new.buf, new.len, &err);
        assert_non_null(diff);
        diff_write(&ours, diff, "f.txt", true, true);
        const char *hunks = strstr(ours.buf, "\n@@ ");
        CLEANUP(free) char *theirs = git_says(&files);
        assert_string_equal(hunks ? hunks + 1 : "", theirs);
        diff_free(diff);
    }
    scratch_release(&files);
}

TEST(cut_to_so_many_bytes)
{
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT, text = STRBUF_INIT;
    for (int i = 0; i < 4000; i++) {
        strbuf_addf(&old, "line %d\n", i);
        strbuf_addf(&new, i % 100 ? "line %d\n" : "other %d\n", i);
    }
    struct diff *diff = diff_new("f", old.buf, old.len, new.buf, new.len, &err);
    size_t hunks = diff->hunk_count;
    diff_cut(diff, (size_t)1 << 20);
    assert_false(diff->cut);
    assert_int_equal(diff->hunk_count, hunks);
    diff_cut(diff, 1000);
    assert_true(diff->cut);
    assert_true(diff->hunk_count > 1 && diff->hunk_count < hunks);
    assert_int_equal(diff->added, 40);
    diff_write(&text, diff, "f", true, true);
    assert_true(text.len < 1200);
    assert_non_null(strstr(text.buf, "-line 100\n+other 100\n"));
    assert_non_null(strstr(text.buf, "\\ Too large to be shown whole: 40 lines added and 40 removed in all\n"));
    diff_cut(diff, 0);
    assert_int_equal(diff->hunk_count, 0);
    diff_free(diff);
}

static void *compare_much(void *data)
{
    bool *ok = data;
    for (int i = 0; i < 200; i++) {
        struct err err = ERR_INIT;
        struct diff *diff = diff_new("f", "a\nb\n", 4, "a\nc\n", 4, &err);
        *ok &= diff && diff->added == 1 && diff->removed == 1;
        diff_free(diff);
    }
    return NULL;
}

TEST(diffs_can_be_made_on_threads)
{
    pthread_t threads[4];
    bool ok[4] = {true, true, true, true};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compare_much, &ok[i]), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_true(ok[i]);
    }
}
