/* A recorded proposal is made again only where everything is as it was. */

#include "base/beneath.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/scratch.h"
#include "tools/change.h"
#include "turn/proposed.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct scratch scratch;
static struct beneath *root;

static int set_up(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    scratch_init(&scratch);
    scratch_write(&scratch, "a.txt", "one\ntwo\n");
    root = beneath_open(scratch.path, &err);
    return root ? 0 : -1;
}

static int take_down(void **state)
{
    (void)state;
    beneath_close(root);
    scratch_release(&scratch);
    return 0;
}

static bool lost;

/* Contents NULL: there was, or will be, no such file. */
static struct change_set *again(const char *path, const char *before, const char *after, const char *diff,
                                struct err *err)
{
    char old[HASH_SHA256_HEX] = "absent", new[HASH_SHA256_HEX] = "absent";
    if (before)
        hash_sha256(before, strlen(before), old);
    if (after)
        hash_sha256(after, strlen(after), new);
    struct event_proposed_file file = {.path = path, .old_digest = old, .new_digest = new, .diff = diff};
    return proposed_again(root, &(struct event_proposed_file_list){&file, 1}, &lost, err);
}

static void test_it_is_made_again(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    struct change_set *set = again("a.txt", "one\ntwo\n", "one\nTWO\n",
                                   "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n", &err);
    assert_non_null(set);
    assert_string_equal(set->items[0].new.bytes, "one\nTWO\n");
    change_set_free(set);
    set = again("new.txt", NULL, "x\n", "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n", &err);
    assert_non_null(set);
    assert_false(set->items[0].old.exists);
    change_set_free(set);
    set = again("empty", NULL, "", "--- /dev/null\n+++ b/empty\n", &err);
    assert_non_null(set);
    assert_true(set->items[0].new.exists);
    assert_int_equal(set->items[0].new.len, 0);
    change_set_free(set);
    set = again("a.txt", "one\ntwo\n", NULL, "", &err);
    assert_non_null(set);
    assert_false(set->items[0].new.exists);
    change_set_free(set);
}

static void test_nothing_is_guessed(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    assert_null(again("a.txt", "other\n", "x\n", "@@ -1 +1 @@\n-other\n+x\n", &err));
    assert_string_equal(err.text, "a.txt is not what it was");
    assert_false(lost);
    assert_null(again("a.txt", "one\ntwo\n", "x\n", "@@ -1,2 +1 @@\n-one\n-two\n+y\n", &err));
    assert_string_equal(err.text, "the difference of a.txt was not recorded whole");
    assert_true(lost);
    assert_null(again("a.txt", "one\ntwo\n", "x\n", NULL, &err));
    assert_true(lost);
    assert_null(again("../a.txt", NULL, "x\n", "@@ -0,0 +1 @@\n+x\n", &err));
    struct event_proposed_file nothing = {0};
    assert_null(proposed_again(root, &(struct event_proposed_file_list){0}, &lost, &err));
    assert_null(proposed_again(root, &(struct event_proposed_file_list){&nothing, 1}, &lost, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_made_again, set_up, take_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_guessed, set_up, take_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
