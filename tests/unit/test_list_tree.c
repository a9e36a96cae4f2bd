/* Tests of a tree in lines: folded entries stay folded, and nothing below them is shown. */

#include "base/mem.h"
#include "screen/list.h"
#include "support/test.h"
#include <stdint.h>
#include <string.h>

/* a (b (c) d) e, with the visible entries as letters. */
static void build(struct treeview *tree, bool with_first)
{
    tree_begin(tree);
    if (with_first)
        tree_add(tree, TREE_NONE, "0", "0");
    uint32_t a = tree_add(tree, TREE_NONE, "a", "a");
    uint32_t b = tree_add(tree, a, "b", "b");
    tree_add(tree, b, "c", "c");
    tree_add(tree, a, "d", "d");
    tree_add(tree, TREE_NONE, "e", "e");
    tree_end(tree);
}

static void assert_shown(const struct treeview *tree, const char *want)
{
    char got[16] = "";
    for (uint32_t i = 0; i < tree->shown_count; i++)
        got[i] = tree->nodes[tree->shown[i]].label[0];
    assert_string_equal(got, want);
}

TEST(folders_can_be_folded)
{
    struct treeview tree = {0};
    build(&tree, false);
    assert_shown(&tree, "abcde");
    uint64_t before = tree.generation;
    assert_true(tree_toggle(&tree, tree_find(&tree, "b")));
    assert_true(tree.generation != before);
    assert_shown(&tree, "abde");
    assert_true(tree_toggle(&tree, tree_find(&tree, "a")));
    assert_shown(&tree, "ae");
    assert_false(tree_toggle(&tree, tree_find(&tree, "e")));
    /* Another tree with the same nodes keeps their fold state. */
    build(&tree, true);
    assert_shown(&tree, "0ae");
    assert_true(tree_toggle(&tree, tree_find(&tree, "a")));
    assert_shown(&tree, "0abde");
    tree_release(&tree);
}

TEST(rows_of_folded_entries_are_those_of_their_folder)
{
    struct treeview tree = {0};
    build(&tree, false);
    tree_toggle(&tree, tree_find(&tree, "a"));
    assert_int_equal(tree_row(&tree, tree_find(&tree, "a")), 0);
    assert_int_equal(tree_row(&tree, tree_find(&tree, "c")), 0); /* the folded entry above it */
    assert_int_equal(tree_row(&tree, tree_find(&tree, "e")), 1);
    tree_toggle(&tree, tree_find(&tree, "b"));
    tree_reveal(&tree, tree_find(&tree, "c"));
    assert_shown(&tree, "abcde");
    assert_int_equal(tree_row(&tree, tree_find(&tree, "c")), 2);
    assert_int_equal(tree.folded_count, 0);
    assert_int_equal(tree_find(&tree, "x"), TREE_NONE);
    tree_release(&tree);
}

TEST(an_empty_tree_has_no_rows)
{
    struct treeview tree = {0};
    tree_begin(&tree);
    tree_end(&tree);
    assert_int_equal(tree.shown_count, 0);
    assert_int_equal(tree_row(&tree, 0), 0);
    tree_release(&tree);
}
