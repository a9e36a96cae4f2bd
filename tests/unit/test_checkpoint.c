/* Tests of checkpoints: a write can be undone and redone, unless another program changed the file since. */

#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/tool_rig.h"
#include "tools/checkpoint.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static struct tool_rig rig;
static struct checkpoints *store;

static void open_store(void)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *dir = scratch_path(&rig.beside, "state/checkpoints");
    store = checkpoints_open(dir, &err);
    if (!store)
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    (void)state;
    tool_rig_init(&rig);
    open_store();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    checkpoints_close(store);
    tool_rig_release(&rig);
    return 0;
}

static void expect_file(const char *name, const char *text)
{
    CLEANUP(free) char *content = scratch_read(&rig.files, name, NULL);
    if (!text) {
        assert_null(content);
        return;
    }
    assert_non_null(content);
    assert_string_equal(content, text);
}

/* A NULL text deletes. */
static void propose(struct change_set *set, const char *path, const char *text)
{
    struct err err = ERR_INIT;
    struct change *change = change_set_add(set, rig.root, path, &err);
    assert_non_null(change);
    if (text)
        change_side_set(&change->new, text, strlen(text), change->old.exists ? change->old.mode : 0644);
    else
        change_side_absent(&change->new);
}

/* Saves the old state and commits; the caller frees the checkpoint's id. */
static char *write_set(struct change_set *take_set)
{
    struct err err = ERR_INIT;
    char *id = checkpoint_save(store, "call_7", take_set, &err);
    if (!id || change_set_commit(take_set, rig.root, &err) < 0)
        fail_msg("%s", err.text);
    change_set_free(take_set);
    return id;
}

static char *write_one(const char *path, const char *text)
{
    struct change_set *set = change_set_new();
    propose(set, path, text);
    return write_set(set);
}

static char *undo(const char *id)
{
    struct err err = ERR_INIT;
    struct change_set *set = checkpoint_undo(store, rig.root, id, &err);
    if (!set)
        fail_msg("%s", err.text);
    return write_set(set);
}

static void expect_no_undo(const char *id, const char *text)
{
    struct err err = ERR_INIT;
    assert_null(checkpoint_undo(store, rig.root, id, &err));
    assert_string_equal(err.text, text);
}

static bool is_saved(int number)
{
    CLEANUP(free) char *manifest = xasprintf("state/checkpoints/cp_%d/manifest.json", number);
    return scratch_exists(&rig.beside, manifest);
}

/* Expects these checkpoints to be complete, newest first, and no others. */
static void expect_list(const char *expected)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (int number = 20; number > 0; number--)
        if (is_saved(number))
            strbuf_addf(&text, "%scp_%d", text.len ? " " : "", number);
    assert_string_equal(text.buf ? text.buf : "", expected);
}

TEST_WITH(undo_and_undo_of_undo, setup, teardown)
{
    scratch_write(&rig.files, "a", "one");
    scratch_chmod(&rig.files, "a", 0755);
    expect_list("");
    CLEANUP(free) char *first = write_one("a", "two");
    assert_string_equal(first, "cp_1");
    expect_file("a", "two");
    CLEANUP(free) char *second = undo("cp_1");
    assert_string_equal(second, "cp_2");
    expect_file("a", "one");
    assert_int_equal(scratch_mode(&rig.files, "a"), 0755);
    free(undo("cp_2"));
    expect_file("a", "two");
    free(undo("cp_1")); /* it is again the state that this write left */
    expect_file("a", "one");
    expect_list("cp_4 cp_3 cp_2 cp_1");
}

TEST_WITH(new_and_deleted_files, setup, teardown)
{
    scratch_write(&rig.files, "from", "bytes\n");
    struct change_set *move = change_set_new();
    propose(move, "to/here", "bytes\n");
    propose(move, "from", NULL);
    CLEANUP(free) char *moved = write_set(move);
    expect_file("from", NULL);
    expect_file("to/here", "bytes\n");
    CLEANUP(free) char *back = undo(moved);
    expect_file("from", "bytes\n");
    expect_file("to/here", NULL);
    free(undo(back));
    expect_file("from", NULL);
    expect_file("to/here", "bytes\n");
    CLEANUP(free) char *empty = write_one("empty", "");
    free(undo(empty));
    expect_file("empty", NULL);
}

TEST_WITH(undo_comes_in_reverse, setup, teardown)
{
    struct change_set *set = change_set_new();
    propose(set, "1", "x");
    propose(set, "2", "y");
    propose(set, "3", "z");
    CLEANUP(free) char *id = write_set(set);
    struct err err = ERR_INIT;
    struct change_set *back = checkpoint_undo(store, rig.root, id, &err);
    assert_non_null(back);
    assert_int_equal(back->count, 3);
    assert_string_equal(back->items[0].path, "3");
    assert_string_equal(back->items[2].path, "1");
    assert_string_equal(back->items[0].old.bytes, "z");
    assert_false(back->items[0].new.exists);
    change_set_free(back);
}

TEST_WITH(undo_is_refused_after_a_foreign_change, setup, teardown)
{
    scratch_write(&rig.files, "a", "a1");
    scratch_write(&rig.files, "b", "b1");
    struct change_set *set = change_set_new();
    propose(set, "a", "a2");
    propose(set, "b", "b2");
    free(write_set(set));
    scratch_write(&rig.files, "b", "by hand");
    expect_no_undo("cp_1", "b was changed by someone else since cp_1; an undo would lose that");
    expect_file("a", "a2");
    expect_file("b", "by hand");
    scratch_remove(&rig.files, "b");
    expect_no_undo("cp_1", "b was deleted since cp_1; an undo would lose that");
    scratch_mkdir(&rig.files, "b");
    expect_no_undo("cp_1", "b is a folder, not a file that can be changed");
    scratch_remove(&rig.files, "b");
    scratch_write(&rig.files, "b", "b1");
    expect_no_undo("cp_1", "b is already as before cp_1");
    scratch_write(&rig.files, "b", "b2");
    free(undo("cp_1"));
    expect_file("b", "b1");
}

TEST_WITH(foreign_mode_changes_are_kept, setup, teardown)
{
    scratch_write(&rig.files, "a", "one");
    CLEANUP(free) char *id = write_one("a", "two");
    scratch_chmod(&rig.files, "a", 0700);
    free(undo(id));
    expect_file("a", "one");
    assert_int_equal(scratch_mode(&rig.files, "a"), 0700);
}

TEST_WITH(bytes_of_any_kind, setup, teardown)
{
    static const char bytes[] = "\0\xff\r\n\x80 end";
    scratch_write_bytes(&rig.files, "blob", bytes, sizeof(bytes));
    CLEANUP(free) char *id = write_one("blob", "text");
    free(undo(id));
    size_t len;
    CLEANUP(free) char *content = scratch_read(&rig.files, "blob", &len);
    assert_int_equal(len, sizeof(bytes));
    assert_memory_equal(content, bytes, len);
}

TEST_WITH(ids_continue_after_reopening, setup, teardown)
{
    free(write_one("a", "1"));
    free(write_one("a", "2"));
    checkpoints_close(store);
    open_store();
    expect_list("cp_2 cp_1");
    CLEANUP(free) char *three = write_one("a", "3");
    assert_string_equal(three, "cp_3");

    /* An interrupted save left a folder without a manifest, and foreign files are beside it. */
    scratch_mkdir(&rig.beside, "state/checkpoints/cp_9");
    scratch_write(&rig.beside, "state/checkpoints/cp_9/0.old", "half");
    scratch_mkdir(&rig.beside, "state/checkpoints/cp_x");
    scratch_mkdir(&rig.beside, "state/checkpoints/cp_0012");
    checkpoints_close(store);
    open_store();
    expect_list("cp_3 cp_2 cp_1");
    expect_no_undo("cp_9", "the old bytes (cp_9) are not here; another session saved them");
    CLEANUP(free) char *ten = write_one("a", "4");
    assert_string_equal(ten, "cp_10");
    expect_list("cp_10 cp_3 cp_2 cp_1");
}

TEST_WITH(two_stores_share_a_folder, setup, teardown)
{
    struct checkpoints *first = store;
    open_store();
    CLEANUP(free) char *one = write_one("a", "1");
    struct checkpoints *second = store;
    store = first;
    CLEANUP(free) char *two = write_one("a", "2");
    assert_string_equal(one, "cp_1");
    assert_string_equal(two, "cp_2");
    checkpoints_close(second);
}

static void *save_many(void *data)
{
    (void)data;
    struct change_set *set = change_set_new();
    struct err err = ERR_INIT;
    struct change *change = change_set_add(set, rig.root, "a", &err);
    for (int i = 0; change && i < 10; i++)
        free(checkpoint_save(store, "c", set, &err));
    change_set_free(set);
    return NULL;
}

TEST_WITH(from_threads, setup, teardown)
{
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, save_many, NULL), 0);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    int count = 0;
    while (is_saved(count + 1))
        count++;
    assert_int_equal(count, 30);
}

TEST_WITH(checkpoints_are_private, setup, teardown)
{
    scratch_write(&rig.files, "a", "secret");
    free(write_one("a", "x"));
    assert_int_equal(scratch_mode(&rig.beside, "state/checkpoints"), 0700);
    assert_int_equal(scratch_mode(&rig.beside, "state/checkpoints/cp_1"), 0700);
    assert_int_equal(scratch_mode(&rig.beside, "state/checkpoints/cp_1/0.old"), 0600);
    assert_int_equal(scratch_mode(&rig.beside, "state/checkpoints/cp_1/manifest.json"), 0600);
}

TEST_WITH(damage_and_nonsense, setup, teardown)
{
    scratch_write(&rig.files, "a", "one");
    free(write_one("a", "two"));
    scratch_write(&rig.beside, "state/checkpoints/cp_1/0.old", "onE");
    expect_no_undo("cp_1", "the saved content of a is damaged");
    scratch_remove(&rig.beside, "state/checkpoints/cp_1/0.old");
    struct err err = ERR_INIT;
    assert_null(checkpoint_undo(store, rig.root, "cp_1", &err));
    assert_int_equal(err.code, ENOENT);
    scratch_write(&rig.beside, "state/checkpoints/cp_1/manifest.json", "{\"v\":1,");
    assert_null(checkpoint_undo(store, rig.root, "cp_1", &err));
    /* A forged manifest cannot lead out of the workspace. */
    scratch_write(&rig.beside, "state/checkpoints/cp_1/manifest.json",
                  "{\"v\":1,\"files\":[{\"path\":\"../x\",\"old\":{\"exists\":false,\"digest\":\"absent\"},"
                  "\"new\":{\"exists\":false,\"digest\":\"absent\"}}]}");
    expect_no_undo("cp_1", "path escapes workspace: ../x");
    const char *const names[] = {"cp_2", "", "cp_", "cp_0", "cp_01", "../cp_1", "cp_1/", "cp_99999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        CLEANUP(free)
        char *text = xasprintf(
            i == 0 ? "the old bytes (%s) are not here; another session saved them" : "unknown checkpoint %s", names[i]);
        expect_no_undo(names[i], text);
    }
}

TEST_WITH(numbers_go_on_above_those_of_a_recording, setup, teardown)
{
    checkpoints_number_from(store, "cp_7");
    checkpoints_number_from(store, "cp_3");
    checkpoints_number_from(store, "not one");
    checkpoints_number_from(store, "cp_999999999999999999");
    CLEANUP(free) char *id = write_one("a", "1");
    assert_string_equal(id, "cp_8");
}

static bool try_without_room(struct tool_rig *r)
{
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {4096, 4096};
    struct err err = ERR_INIT;
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, r->root, "large", &err);
    if (!change || setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return false;
    change_side_absent(&change->new);
    char *id = checkpoint_save(store, "c", set, &err);
    change_set_free(set);
    return !id && strcmp(err.text, "cannot save the old content of large: File too large") == 0;
}

TEST_WITH(a_full_disk_keeps_no_checkpoint, setup, teardown)
{
    char *large = xcalloc(1, 100000);
    scratch_write_bytes(&rig.files, "large", large, 100000);
    free(large);
    tool_rig_in_child(try_without_room, &rig, false);
    CLEANUP(free) char *list = scratch_list(&rig.beside, "state/checkpoints");
    assert_string_equal(list, "");
}

TEST_WITH(a_file_in_the_way, setup, teardown)
{
    struct err err = ERR_INIT;
    scratch_write(&rig.beside, "file", "x");
    CLEANUP(free) char *path = scratch_path(&rig.beside, "file");
    assert_null(checkpoints_open(path, &err));
}
