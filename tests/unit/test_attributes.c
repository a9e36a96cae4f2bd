/* Tests of what a write keeps of a file besides its bytes, what it drops, and that it reports the loss. The access
 * lists are real, written as the kernel stores them. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/tool_rig.h"
#include "tools/attributes.h"
#include "tools/change.h"
#include "tools/checkpoint.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define NOBODY 65534

static struct tool_rig rig;

static int setup(void **state)
{
    (void)state;
    tool_rig_init(&rig);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tool_rig_release(&rig);
    return 0;
}

/* user:nobody gets `named`, the group `group`, under the mask rw. */
static size_t make_list(char *list, unsigned named, unsigned group)
{
    const struct {
        unsigned tag, perm, id;
    } entries[] = {{0x01, 6, UINT32_MAX},
                   {0x02, named, NOBODY},
                   {0x04, group, UINT32_MAX},
                   {0x10, 6, UINT32_MAX},
                   {0x20, 0, UINT32_MAX}};
    uint32_t version = htole32(2);
    size_t len = sizeof(version);
    memcpy(list, &version, sizeof(version));
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        uint16_t tag = htole16((uint16_t)entries[i].tag), perm = htole16((uint16_t)entries[i].perm);
        uint32_t id = htole32(entries[i].id);
        memcpy(list + len, &tag, 2);
        memcpy(list + len + 2, &perm, 2);
        memcpy(list + len + 4, &id, 4);
        len += 8;
    }
    return len;
}

/* Returns false and prints a line if the file system has no attributes. */
static bool set_attribute(const char *name, const char *attribute, const void *value, size_t len)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, name);
    if (setxattr(path, attribute, value, len, 0) == 0)
        return true;
    print_message("skipped: %s: %s\n", attribute, strerror(errno));
    return false;
}

static void expect_attribute(const char *name, const char *attribute, const void *value, size_t len)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, name);
    char found[256];
    ssize_t got = getxattr(path, attribute, found, sizeof(found));
    if (!value) {
        assert_int_equal(got, -1);
        assert_int_equal(errno, ENODATA);
        return;
    }
    assert_int_equal(got, (ssize_t)len);
    assert_memory_equal(found, value, len);
}

static struct change_set *propose(const char *path, const char *text)
{
    struct err err = ERR_INIT;
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, rig.root, path, &err);
    if (!change)
        fail_msg("%s", err.text);
    change_side_set(&change->new, text, strlen(text), change->old.exists ? change->old.mode : 0644);
    return set;
}

static void write_approved(struct change_set *set)
{
    struct err err = ERR_INIT;
    if (change_set_commit(set, rig.root, &err) < 0)
        fail_msg("%s", err.text);
    tool_rig_expect_no_leftovers(&rig);
    change_set_free(set);
}

TEST_WITH(access_list, setup, teardown)
{
    char list[64];
    size_t len = make_list(list, 6, 0);
    scratch_write(&rig.files, "a", "old");
    scratch_chmod(&rig.files, "a", 0600);
    if (!set_attribute("a", ATTRIBUTES_LIST, list, len))
        skip();
    struct change_set *set = propose("a", "new");
    assert_null(set->items[0].loses);
    write_approved(set);
    expect_attribute("a", ATTRIBUTES_LIST, list, len);
    assert_int_equal(scratch_mode(&rig.files, "a"), 0660);
}

TEST_WITH(named_attributes, setup, teardown)
{
    scratch_write(&rig.files, "a", "old");
    scratch_chmod(&rig.files, "a", 0644);
    if (!set_attribute("a", "user.origin", "somewhere", 9))
        skip();
    bool trusted = geteuid() == 0 && set_attribute("a", "trusted.mark", "t", 1);
    struct change_set *set = propose("a", "new");
    assert_null(set->items[0].loses);
    scratch_chmod(&rig.files, "a", 0644);
    write_approved(set);
    expect_attribute("a", "user.origin", "somewhere", 9);
    if (trusted)
        expect_attribute("a", "trusted.mark", "t", 1);
}

/* Undo writes a new file too: it keeps what the file has then. */
TEST_WITH(undo_keeps_them, setup, teardown)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *dir = scratch_path(&rig.beside, "kept");
    struct checkpoints *store = checkpoints_open(dir, &err);
    assert_non_null(store);
    scratch_write(&rig.files, "a", "old");
    if (!set_attribute("a", "user.origin", "before", 6))
        skip();
    struct change_set *set = propose("a", "new");
    CLEANUP(free) char *id = checkpoint_save(store, "c1", set, &err);
    assert_non_null(id);
    write_approved(set);
    assert_true(set_attribute("a", "user.later", "since", 5));
    struct change_set *undo = checkpoint_undo(store, rig.root, id, &err);
    assert_non_null(undo);
    write_approved(undo);
    CLEANUP(free) char *text = scratch_read(&rig.files, "a", NULL);
    assert_string_equal(text, "old");
    expect_attribute("a", "user.origin", "before", 6);
    expect_attribute("a", "user.later", "since", 5);
    checkpoints_close(store);
}

TEST_WITH(a_move_keeps_them, setup, teardown)
{
    scratch_write(&rig.files, "d/a", "old");
    scratch_chmod(&rig.files, "d/a", 0604);
    if (!set_attribute("d/a", "user.origin", "x", 1))
        skip();
    tool_rig_run(&rig, &tool_move_file, "{\"from\":\"d/a\",\"to\":\"e/b\"}");
    assert_null(change_loses(&rig.reply.changes->items[0]));
    assert_null(change_loses(&rig.reply.changes->items[1]));
    tool_rig_commit(&rig);
    assert_false(scratch_exists(&rig.files, "d/a"));
    assert_int_equal(scratch_mode(&rig.files, "e/b"), 0604);
    expect_attribute("e/b", "user.origin", "x", 1);
}

TEST_WITH(attributes_never_kept, setup, teardown)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, "a");
    CLEANUP(free) char *other = scratch_path(&rig.files, "other");
    scratch_write(&rig.files, "a", "old");
    assert_int_equal(link(path, other), 0);
    /* VFS_CAP_REVISION_2 with cap_net_bind_service */
    static const uint32_t capability[5] = {0x02000001, 0x400, 0, 0, 0};
    bool capable = geteuid() == 0 && set_attribute("a", "security.capability", capability, sizeof(capability));
    assert_int_equal(chmod(path, 06755), 0);
    struct change_set *set = propose("a", "new");
    CLEANUP(free)
    char *expected = xasprintf("setuid\nsetgid\n%shard links (1 other name keeps the old content)\n",
                               capable ? "file capabilities\n" : "");
    assert_string_equal(change_loses(&set->items[0]), expected);
    CLEANUP(fd) int from = open(path, O_RDONLY);
    CLEANUP(free) char *guessed = attributes_lost(-1, from); /* where no nameless file can be made */
    assert_string_equal(guessed, expected);
    char said[HASH_SHA256_HEX], unsaid[HASH_SHA256_HEX];
    change_set_digest(set, said);
    char *loses = steal(&set->items[0].loses);
    change_set_digest(set, unsaid);
    set->items[0].loses = loses;
    assert_string_not_equal(said, unsaid); /* it is part of what the user approves */
    write_approved(set);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    expect_attribute("a", "security.capability", NULL, 0);
    CLEANUP(free) char *kept = scratch_read(&rig.files, "other", NULL);
    assert_string_equal(kept, "old");

    set = propose("other", "x"); /* a deletion loses all of them */
    change_side_absent(&set->items[0].new);
    CLEANUP(free) char *gone = xasprintf("setuid\nsetgid\n%s", capable ? "attribute security.capability\n" : "");
    assert_string_equal(change_loses(&set->items[0]), gone);
    change_set_free(set);
    scratch_write(&rig.files, "plain", "x");
    set = propose("plain", "");
    change_side_absent(&set->items[0].new);
    assert_null(change_loses(&set->items[0]));
    change_set_free(set);
}

/* The attribute is set while the question is open. The question did not show it, so nothing is written. */
TEST_WITH(attribute_set_after_the_question_stops_the_write, setup, teardown)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, "a");
    scratch_write(&rig.files, "a", "old");
    struct change_set *set = propose("a", "new");
    struct err err = ERR_INIT;
    assert_null(set->items[0].loses);
    assert_int_equal(chmod(path, 04755), 0);
    assert_int_equal(change_set_commit(set, rig.root, &err), -1);
    assert_string_equal(
        err.text, "cannot write a: it would lose its setuid, which the question did not show; nothing was changed");
    change_set_free(set);
    CLEANUP(free) char *text = scratch_read(&rig.files, "a", NULL);
    assert_string_equal(text, "old");
    tool_rig_expect_no_leftovers(&rig);
}

/* New files are as any other program would make them, the folder's default list included. */
TEST_WITH(new_files, setup, teardown)
{
    char list[64];
    size_t len = make_list(list, 4, 4);
    mode_t before = umask(027);
    write_approved(propose("plain", "x"));
    umask(before);
    assert_int_equal(scratch_mode(&rig.files, "plain"), 0640);
    scratch_mkdir(&rig.files, "d");
    scratch_write(&rig.files, "d/bare", "old");
    scratch_chmod(&rig.files, "d/bare", 0640);
    if (!set_attribute("d", "system.posix_acl_default", list, len))
        skip();
    CLEANUP(free) char *control = scratch_path(&rig.files, "d/control");
    CLEANUP(fd) int fd = open(control, O_WRONLY | O_CREAT | O_EXCL, 0644);
    assert_true(fd >= 0);
    char plain[64];
    ssize_t got = fgetxattr(fd, ATTRIBUTES_LIST, plain, sizeof(plain));
    assert_true(got > 0);
    write_approved(propose("d/new", "x"));
    expect_attribute("d/new", ATTRIBUTES_LIST, plain, (size_t)got);
    assert_int_equal(scratch_mode(&rig.files, "d/new"), scratch_mode(&rig.files, "d/control"));
    /* A file without a list gets none by being written. */
    write_approved(propose("d/bare", "new"));
    expect_attribute("d/bare", ATTRIBUTES_LIST, NULL, 0);
    assert_int_equal(scratch_mode(&rig.files, "d/bare"), 0640);
}

static void expect_stat(const char *name, uid_t uid, gid_t gid, mode_t mode)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, name);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, uid);
    assert_int_equal(st.st_gid, gid);
    assert_int_equal(st.st_mode & 07777, mode);
}

TEST_WITH(owner_as_root, setup, teardown)
{
    if (geteuid() != 0) {
        print_message("skipped: only root gives files away\n");
        skip();
    }
    CLEANUP(free) char *path = scratch_path(&rig.files, "a");
    scratch_write(&rig.files, "a", "old");
    assert_int_equal(chown(path, 1234, 4321), 0);
    assert_int_equal(chmod(path, 0640), 0);
    struct change_set *set = propose("a", "new");
    assert_null(set->items[0].loses);
    write_approved(set);
    expect_stat("a", 1234, 4321, 0640);
}

/* The file belongs to another user and group, in our folder: a write loses both, and the new group gains no rights. */
static bool write_foreign_file(struct tool_rig *r)
{
    struct err err = ERR_INIT;
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, r->root, "d/a", &err);
    if (!change || !change->loses || strcmp(change->loses, "owner 1234\ngroup 4321\n") != 0)
        return false;
    bool again = strcmp(change->old.bytes, "new") == 0;
    change_side_set(&change->new, again ? "newer" : "new", again ? 5 : 3, change->old.mode);
    bool written = change_set_commit(set, r->root, &err) == 0;
    change_set_free(set);
    return written;
}

TEST_WITH(owner_as_user, setup, teardown)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can make another user's file\n");
        skip();
    }
    CLEANUP(free) char *folder = scratch_path(&rig.files, "d"), *path = scratch_path(&rig.files, "d/a");
    assert_int_equal(chmod(rig.files.path, 0755), 0);
    scratch_write(&rig.files, "d/a", "old");
    assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    assert_int_equal(chown(path, 1234, 4321), 0);
    assert_int_equal(chmod(path, 0666), 0);
    tool_rig_in_child(write_foreign_file, &rig, true);
    expect_stat("d/a", NOBODY, NOBODY, 0666);
    assert_int_equal(chown(path, 1234, 4321), 0);
    assert_int_equal(chmod(path, 0676), 0); /* others may not execute it, so the new group may not either */
    tool_rig_in_child(write_foreign_file, &rig, true);
    expect_stat("d/a", NOBODY, NOBODY, 0666);
    assert_int_equal(chown(path, 1234, 4321), 0);
    assert_int_equal(chmod(path, 0606), 0); /* the old group may not read it; its members are among the others now */
    tool_rig_in_child(write_foreign_file, &rig, true);
    expect_stat("d/a", NOBODY, NOBODY, 0600);
    assert_int_equal(chown(path, 1234, 4321), 0);
    assert_int_equal(chmod(path, 0466), 0); /* nor may the old owner write it */
    tool_rig_in_child(write_foreign_file, &rig, true);
    expect_stat("d/a", NOBODY, NOBODY, 0444);
}

TEST_WITH(narrower_bits, setup, teardown)
{
    /* A file system without lists: a pipe has none either, so setting one fails there. */
    char list[64];
    size_t len = make_list(list, 6, 0);
    scratch_write(&rig.files, "a", "old");
    scratch_chmod(&rig.files, "a", 0600);
    if (!set_attribute("a", ATTRIBUTES_LIST, list, len))
        skip();
    CLEANUP(free) char *path = scratch_path(&rig.files, "a");
    CLEANUP(fd) int from = open(path, O_RDONLY);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    CLEANUP(strbuf) struct strbuf lost = STRBUF_INIT;
    assert_int_equal(attributes_copy(ends[1], from, 0660, &lost), 0);
    assert_string_equal(lost.buf, "access list\n");
    struct stat st;
    assert_int_equal(fstat(ends[1], &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600); /* 0660 would open it to the group */
    close(ends[0]);
    close(ends[1]);
}
