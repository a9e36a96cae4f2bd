/* Tests of changes: the program writes exactly what was proposed, or nothing. */

#include "base/beneath.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "support/test.h"
#include "support/tool_rig.h"
#include "tools/change.h"
#include "tools/diff.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

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

static struct change *add(struct change_set *set, const char *path)
{
    struct err err = ERR_INIT;
    struct change *change = change_set_add(set, rig.root, path, &err);
    if (!change)
        fail_msg("%s", err.text);
    return change;
}

static void set_text(struct change *change, const char *text)
{
    change_side_set(&change->new, text, strlen(text), change->old.exists ? change->old.mode : 0644);
}

static void add_text(struct change_set *set, const char *path, const char *text)
{
    set_text(add(set, path), text);
}

static void expect_commit(const struct change_set *set)
{
    struct err err = ERR_INIT;
    if (change_set_commit(set, rig.root, &err) < 0)
        fail_msg("%s", err.text);
    tool_rig_expect_no_leftovers(&rig);
}

static void expect_refusal(const struct change_set *set, const char *text)
{
    struct err err = ERR_INIT;
    assert_int_equal(change_set_commit(set, rig.root, &err), -1);
    assert_string_equal(err.text, text);
    tool_rig_expect_no_leftovers(&rig);
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

static void expect_not_addable(const char *path, const char *text)
{
    struct err err = ERR_INIT;
    struct change_set *set = change_set_new();
    assert_null(change_set_add(set, rig.root, path, &err));
    assert_string_equal(err.text, text);
    assert_int_equal(set->count, 0);
    change_set_free(set);
}

static void link_to(const char *target, const char *name)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, name);
    assert_int_equal(symlink(target, path), 0);
}

TEST_WITH(a_change_has_an_old_and_a_new_side, setup, teardown)
{
    scratch_write(&rig.files, "a.txt", "old\n");
    scratch_chmod(&rig.files, "a.txt", 04755);
    struct change_set *set = change_set_new();
    struct change *change = add(set, "./a.txt");
    assert_string_equal(change->path, "a.txt");
    assert_true(change->old.exists && change->new.exists);
    assert_int_equal(change->old.mode, 0755);
    assert_string_equal(change->old.bytes, "old\n");
    assert_string_equal(change->old.digest, change->new.digest);
    set_text(change, "new\n");
    assert_string_equal(change->new.digest, "7aa7a5359173d05b63cfd682e3c38487f3cb4f7f1d60659fe59fab1505977d4c");
    change = add(set, "b/none.txt");
    assert_false(change->old.exists);
    assert_string_equal(change->old.digest, "absent");
    assert_null(change->old.bytes);
    change_side_set(&change->new, "x\0y", 3, 0600);
    assert_int_equal(change->new.len, 3);

    struct change_set *copy = change_set_copy(set);
    char one[HASH_SHA256_HEX], two[HASH_SHA256_HEX];
    change_set_digest(set, one);
    change_set_digest(copy, two);
    assert_string_equal(one, two);
    assert_ptr_equal(copy->items[1].new.bytes, set->items[1].new.bytes);
    change_side_set(&copy->items[1].new, copy->items[1].new.bytes + 1, 2, 0600); /* from itself */
    change_set_digest(copy, two);
    assert_string_not_equal(one, two);
    assert_memory_equal(set->items[1].new.bytes, "x\0y", 3);
    change_side_absent(&copy->items[0].new);
    assert_string_equal(copy->items[0].new.digest, "absent");
    change_set_free(copy);
    change_set_free(set);
    change_set_free(NULL);
}

TEST_WITH(links_and_special_files_are_refused, setup, teardown)
{
    CLEANUP(free) char *secret = scratch_path(&rig.beside, "secret");
    scratch_write(&rig.beside, "secret", "s");
    scratch_write(&rig.files, "d/real", "r");
    link_to(secret, "out");
    link_to("loop", "loop");
    link_to("d", "folder");
    link_to(".", "self");
    CLEANUP(free) char *fifo = scratch_path(&rig.files, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    CLEANUP(free) char *sock = scratch_path(&rig.files, "sock");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, sock, strlen(sock));
    CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    CLEANUP(free) char *big = scratch_path(&rig.files, "big");
    scratch_write(&rig.files, "big", "");
    assert_int_equal(truncate(big, CHANGE_BYTES_MAX + 1), 0);

    alarm(20);
    expect_not_addable("d", "d is a folder, not a file that can be changed");
    expect_not_addable(".", ". is a folder, not a file that can be changed");
    expect_not_addable("folder", "d is a folder, not a file that can be changed");
    expect_not_addable("self/self", ". is a folder, not a file that can be changed");
    expect_not_addable("loop", "loop leads through too many symbolic links");
    CLEANUP(free) char *text = xasprintf("out is a symbolic link to %s, which is outside the project", secret);
    expect_not_addable("out", text);
    expect_not_addable("fifo", "fifo is a FIFO, not a file that can be changed");
    expect_not_addable("sock", "sock is a socket, not a file that can be changed");
    expect_not_addable("big", "big is larger than 32 MB, too large to undo");
    expect_not_addable("../x", "path escapes workspace: ../x");
    expect_not_addable("d/real/x", "d/real/x does not exist: a part of its path is not a folder");
    CLEANUP(free) char *null = scratch_path(&rig.files, "null");
    if (mknod(null, S_IFCHR | 0666, makedev(1, 3)) == 0)
        expect_not_addable("null", "null is a device, not a file that can be changed");
    alarm(0);
}

TEST_WITH(write_create_delete, setup, teardown)
{
    scratch_write(&rig.files, "edit.sh", "old\n");
    scratch_chmod(&rig.files, "edit.sh", 0750);
    scratch_write(&rig.files, "gone.txt", "bye\n");
    scratch_mkdir(&rig.files, "real");
    link_to("real", "alias");
    struct change_set *set = change_set_new();
    add_text(set, "edit.sh", "new\n");
    add_text(set, "deep/er/made.txt", "made\n");
    add_text(set, "alias/through.txt", "t\n");
    change_side_absent(&add(set, "gone.txt")->new);
    mode_t before = umask(077);
    expect_commit(set);
    umask(before);
    expect_file("edit.sh", "new\n");
    assert_int_equal(scratch_mode(&rig.files, "edit.sh"), 0750);
    expect_file("deep/er/made.txt", "made\n");
    assert_int_equal(scratch_mode(&rig.files, "deep/er/made.txt"), 0600); /* like any other new file */
    expect_file("real/through.txt", "t\n");
    expect_file("gone.txt", NULL);
    change_set_free(set);
}

/* The change holds the resolved path; the requested one is shown as well. */
TEST_WITH(links_are_resolved, setup, teardown)
{
    CLEANUP(free) char *real = scratch_path(&rig.files, "d/real");
    scratch_write(&rig.files, "d/real", "r");
    scratch_mkdir(&rig.files, ".git/hooks");
    link_to("real", "d/link");
    link_to("../d/./real", "d/round");
    link_to(real, "absolute");
    link_to("d/new", "dangling");
    link_to(".git/hooks", "docs");
    link_to("../docs", "d/docs");
    static const struct {
        const char *asked, *path;
        bool link;
    } cases[] = {
        {"d/link", "d/real", true},
        {"./d//round", "d/real", true},
        {"absolute", "d/real", true},
        {"dangling", "d/new", true},
        {"docs/pre-commit", ".git/hooks/pre-commit", false},
        {"d/docs/a/b", ".git/hooks/a/b", false},
        {"d/../docs/x", ".git/hooks/x", false},
    };
    struct change_set *set = change_set_new();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct change *change = add(set, cases[i].asked);
        assert_string_equal(change->path, cases[i].path);
        assert_non_null(change->through);
        assert_int_equal(change->link, cases[i].link);
    }
    assert_string_equal(set->items[1].through, "d/round");
    assert_null(add(set, "d/real")->through);
    char asked[HASH_SHA256_HEX], named[HASH_SHA256_HEX];
    struct change_set *one = change_set_new(), *other = change_set_new();
    add(one, "docs/pre-commit");
    add(other, ".git/hooks/pre-commit");
    change_set_digest(one, asked);
    change_set_digest(other, named);
    assert_string_equal(asked, named);
    change_set_free(one);
    change_set_free(other);
    change_set_free(set);

    set = change_set_new();
    add_text(set, "d/link", "new");
    add_text(set, "d/docs/a/b", "hook");
    struct change_set *copy = change_set_copy(set);
    expect_commit(copy);
    expect_file("d/real", "new");
    expect_file(".git/hooks/a/b", "hook");
    char target[16] = "";
    CLEANUP(free) char *link = scratch_path(&rig.files, "d/link");
    assert_int_equal(readlink(link, target, sizeof(target) - 1), 4); /* the link is still one */
    change_set_free(copy);
    change_set_free(set);
}

static void swap_in(const char *target)
{
    CLEANUP(free) char *src = scratch_path(&rig.files, "src");
    CLEANUP(free) char *aside = scratch_path(&rig.files, "src.old");
    assert_int_equal(rename(src, aside), 0);
    if (target)
        link_to(target, "src");
    else
        scratch_mkdir(&rig.files, "src");
}

/* Another process swaps the folder after the proposal: for a link, or another folder, or in place of a folder to be
 * made. */
TEST_WITH(swapped_folders, setup, teardown)
{
    static const char *const targets[] = {".git/hooks", "src.old", NULL};
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        teardown(NULL);
        setup(NULL);
        scratch_mkdir(&rig.files, ".git/hooks");
        scratch_write(&rig.files, "src/old.txt", "old");
        struct change_set *set = change_set_new();
        struct err err = ERR_INIT;
        add_text(set, "src/new.txt", "new");
        assert_int_equal(change_set_check(set, rig.root, &err), 0);
        swap_in(targets[i]);
        assert_int_equal(change_set_check(set, rig.root, &err), -1);
        assert_string_equal(err.text, "src was moved or replaced during the call");
        expect_refusal(set, "src was moved or replaced during the call");
        change_set_free(set);
        CLEANUP(free) char *hooks = scratch_list(&rig.files, ".git/hooks");
        assert_string_equal(hooks, "");
        assert_false(scratch_exists(&rig.files, "src/new.txt"));
        assert_false(scratch_exists(&rig.files, "src.old/new.txt"));
    }
    struct change_set *set = change_set_new();
    add_text(set, "made/up/x", "new");
    add_text(set, "src.old/gone", "new");
    link_to(".git/hooks", "made");
    expect_refusal(set, "made was moved or replaced during the call");
    scratch_remove(&rig.files, "made");
    scratch_mkdir(&rig.files, "made"); /* another process made it, as we would have */
    expect_commit(set);
    expect_file("made/up/x", "new");
    change_set_free(set);
}

/* Two new files in a folder that we make ourselves; and one in a folder that another process moves there. */
TEST_WITH(a_folder_moved_to_where_none_was, setup, teardown)
{
    struct change_set *set = change_set_new();
    add_text(set, "fresh/a/x", "new");
    add_text(set, "fresh/b/y", "new");
    expect_commit(set);
    change_set_free(set);
    scratch_mkdir(&rig.files, ".git/hooks");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* a tick of the clock that file systems use */
    set = change_set_new();
    add_text(set, "n/hooks/x", "new");
    CLEANUP(free) char *git = scratch_path(&rig.files, ".git"), *n = scratch_path(&rig.files, "n");
    assert_int_equal(rename(git, n), 0);
    struct err err = ERR_INIT;
    assert_int_equal(change_set_check(set, rig.root, &err), -1);
    assert_int_equal(err.code, ESTALE);
    expect_refusal(set, "n was moved or replaced during the call");
    assert_false(scratch_exists(&rig.files, "n/hooks/x"));
    change_set_free(set);
}

TEST_WITH(bits_set_after_the_proposal_stay, setup, teardown)
{
    scratch_write(&rig.files, "a", "1");
    struct change_set *set = change_set_new();
    add_text(set, "a", "2");
    scratch_chmod(&rig.files, "a", 0711);
    expect_commit(set);
    assert_int_equal(scratch_mode(&rig.files, "a"), 0711);
    change_set_free(set);

    set = change_set_new();
    struct change *change = add(set, "a");
    change_side_set(&change->new, "2", 1, 0640); /* only the bits */
    expect_commit(set);
    assert_int_equal(scratch_mode(&rig.files, "a"), 0640);
    change_set_free(set);
}

TEST_WITH(bytes_of_any_kind, setup, teardown)
{
    size_t len = 300000;
    char *bytes = xmalloc(len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 7919 >> 3);
    struct change_set *set = change_set_new();
    struct change *change = add(set, "blob");
    change_side_set(&change->new, bytes, len, 0600);
    expect_commit(set);
    size_t got;
    CLEANUP(free) char *content = scratch_read(&rig.files, "blob", &got);
    assert_int_equal(got, len);
    assert_memory_equal(content, bytes, len);
    change_set_free(set);
    set = change_set_new();
    change_side_set(&add(set, "blob")->new, "", 0, 0600);
    expect_commit(set);
    expect_file("blob", "");
    change_set_free(set);
    free(bytes);
}

TEST_WITH(a_file_that_changed_is_not_written, setup, teardown)
{
    scratch_write(&rig.files, "a", "one");
    scratch_write(&rig.files, "b", "one");
    struct change_set *set = change_set_new();
    add_text(set, "a", "two");
    add_text(set, "b", "two");
    struct err err = ERR_INIT;
    assert_int_equal(change_set_check(set, rig.root, &err), 0);
    scratch_write(&rig.files, "b", "ONE"); /* the same length */
    assert_int_equal(change_set_check(set, rig.root, &err), -1);
    assert_string_equal(err.text, "b was changed by someone else since it was read");
    expect_refusal(set, "b was changed by someone else since it was read");
    expect_file("a", "one");
    expect_file("b", "ONE");
    scratch_remove(&rig.files, "b");
    expect_refusal(set, "b was deleted since it was read");
    scratch_mkdir(&rig.files, "b");
    expect_refusal(set, "b is a folder, not a file that can be changed");
    scratch_remove(&rig.files, "b");
    link_to("a", "b");
    expect_refusal(set, "b is a symbolic link, not a file that can be changed");
    expect_file("a", "one");
    change_set_free(set);

    set = change_set_new();
    add_text(set, "new", "mine");
    scratch_write(&rig.files, "new", "theirs");
    expect_refusal(set, "new was created by someone else since it was read");
    expect_file("new", "theirs");
    change_set_free(set);
}

/* Both begin from the same bytes, so the check passes and the second finds the first's: as if a file had been changed
 * between the check and its turn. */
TEST_WITH(earlier_files_are_put_back, setup, teardown)
{
    scratch_write(&rig.files, "a", "a old");
    scratch_write(&rig.files, "gone", "g old");
    scratch_write(&rig.files, "x", "x old");
    scratch_chmod(&rig.files, "a", 0751);
    struct change_set *set = change_set_new();
    add_text(set, "a", "a new");
    add_text(set, "p/q/made", "made");
    change_side_absent(&add(set, "gone")->new);
    add_text(set, "x", "x 1");
    add_text(set, "x", "x 2");
    expect_refusal(set, "x was changed by someone else since it was read; nothing was changed");
    expect_file("a", "a old");
    assert_int_equal(scratch_mode(&rig.files, "a"), 0751);
    expect_file("gone", "g old");
    expect_file("x", "x old");
    assert_false(scratch_exists(&rig.files, "p"));
    change_set_free(set);
}

TEST_WITH(leftovers_of_others_stay, setup, teardown)
{
    scratch_write(&rig.files, "d/.keyturn-0123456789abcdef.tmp", "fresh");
    scratch_write(&rig.files, "d/.keyturn-notours.tmp", "x");
    struct change_set *set = change_set_new();
    add_text(set, "d/a", "a");
    struct err err = ERR_INIT;
    assert_int_equal(change_set_commit(set, rig.root, &err), 0);
    assert_true(scratch_exists(&rig.files, "d/.keyturn-0123456789abcdef.tmp"));
    assert_true(scratch_exists(&rig.files, "d/.keyturn-notours.tmp"));
    change_set_free(set);
}

/* Without permission. Root has every permission, so this runs as the user nobody. */

static bool refused(struct tool_rig *r, const char *path, const char *text, bool delete)
{
    struct err err = ERR_INIT;
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, r->root, path, &err);
    if (change && delete)
        change_side_absent(&change->new);
    else if (change)
        change_side_set(&change->new, "new", 3, 0644);
    bool ok = (!change || change_set_commit(set, r->root, &err) < 0) && strcmp(err.text, text) == 0;
    if (!ok)
        fprintf(stderr, "%s: got \"%s\"\n", path, err.text);
    change_set_free(set);
    return ok;
}

static bool try_without_permission(struct tool_rig *r)
{
    return refused(r, "closed/a", "cannot write closed/a: permission denied; nothing was changed", false) &&
           refused(r, "closed/new", "cannot write closed/new: permission denied; nothing was changed", false) &&
           refused(r, "closed/p/q", "cannot write closed/p/q: permission denied; nothing was changed", false) &&
           refused(r, "closed/a", "cannot delete closed/a: permission denied; nothing was changed", true) &&
           refused(r, "open/protected", "cannot write open/protected: permission denied; nothing was changed", false) &&
           refused(r, "open/protected", "cannot delete open/protected: permission denied; nothing was changed", true) &&
           refused(r, "open/unreadable", "open/unreadable cannot be opened: permission denied", false) &&
           refused(r, "locked/x", "locked/x cannot be opened: permission denied", false);
}

TEST_WITH(without_permission, setup, teardown)
{
    scratch_write(&rig.files, "closed/a", "old");
    scratch_chmod(&rig.files, "closed/a", 0666);
    scratch_chmod(&rig.files, "closed", 0555);
    scratch_write(&rig.files, "open/protected", "old");
    scratch_chmod(&rig.files, "open/protected", 0444);
    scratch_write(&rig.files, "open/unreadable", "old");
    scratch_chmod(&rig.files, "open/unreadable", 0);
    scratch_chmod(&rig.files, "open", 0777);
    scratch_mkdir(&rig.files, "locked");
    scratch_chmod(&rig.files, "locked", 0);
    tool_rig_in_child(try_without_permission, &rig, true);
    expect_file("closed/a", "old");
    expect_file("open/protected", "old");
    tool_rig_expect_no_leftovers(&rig);
    CLEANUP(free) char *closed = scratch_list(&rig.files, "closed");
    assert_string_equal(closed, "a");
}

/* No room: first for one file only (a limit), then on the whole disk (a small one of our own), then no writing at all.
 */

static struct change_set *two_files(struct tool_rig *r, const char *first, const char *second, size_t len)
{
    struct err err = ERR_INIT;
    struct change_set *set = change_set_new();
    struct change *change = change_set_add(set, r->root, first, &err);
    if (change)
        change_side_set(&change->new, "small", 5, 0644);
    struct change *large = change ? change_set_add(set, r->root, second, &err) : NULL;
    if (!large) {
        change_set_free(set);
        return NULL;
    }
    char *bytes = xcalloc(len, 1);
    change_side_set(&large->new, bytes, len, 0644);
    free(bytes);
    return set;
}

static bool no_room(struct tool_rig *r, const char *first, const char *second, const char *text)
{
    struct change_set *set = two_files(r, first, second, 1 << 20);
    struct err err = ERR_INIT;
    bool ok = set && change_set_commit(set, r->root, &err) < 0 && strcmp(err.text, text) == 0;
    if (!ok)
        fprintf(stderr, "got \"%s\"\n", err.text);
    change_set_free(set);
    return ok;
}

static bool try_file_size_limit(struct tool_rig *r)
{
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {65536, 65536};
    return setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           no_room(r, "a", "p/large", "cannot write p/large: it would exceed the file size limit; nothing was changed");
}

TEST_WITH(file_size_limit, setup, teardown)
{
    scratch_write(&rig.files, "a", "old");
    tool_rig_in_child(try_file_size_limit, &rig, false);
    expect_file("a", "old");
    assert_false(scratch_exists(&rig.files, "p"));
    tool_rig_expect_no_leftovers(&rig);
}

static bool holds_only(const struct scratch *files, const char *folder, const char *names)
{
    CLEANUP(free) char *list = scratch_list(files, folder);
    if (strcmp(list, names) == 0)
        return true;
    fprintf(stderr, "%s holds %s\n", folder, list);
    return false;
}

static bool put(const char *path, const char *text)
{
    CLEANUP(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Mounts of our own; an ordinary user becomes root of a name space for it. */
static bool may_mount(void)
{
    CLEANUP(free) char *users = xasprintf("0 %u 1", geteuid()), *groups = xasprintf("0 %u 1", getegid());
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
           put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups);
}

static bool try_small_disk(struct tool_rig *r)
{
    CLEANUP(free) char *disk = scratch_path(&r->files, "disk");
    if (!may_mount() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", disk, "tmpfs", 0, "size=256k,mode=0777") < 0) {
        fprintf(stderr, "no mounts here: the full disk is left to the size limit\n");
        return true;
    }
    struct err err = ERR_INIT;
    beneath_close(r->root); /* it is in the table of file systems as they were */
    r->root = beneath_open(r->files.path, &err);
    scratch_write(&r->files, "disk/a", "old");
    bool ok =
        no_room(r, "disk/a", "disk/p/large", "cannot write disk/p/large: the disk is full; nothing was changed") &&
        holds_only(&r->files, "disk", "a");
    /* Full to the last byte: even putting back must need no room. */
    char *filler = xcalloc(1 << 20, 1);
    CLEANUP(free) char *full = scratch_path(&r->files, "disk/full");
    int fd = open(full, O_WRONLY | O_CREAT, 0600);
    while (write(fd, filler, 512) > 0)
        ;
    close(fd);
    free(filler);
    ok = ok && no_room(r, "disk/a", "disk/large", "cannot write disk/a: the disk is full; nothing was changed") &&
         holds_only(&r->files, "disk", "a full");
    ok = ok && mount("none", disk, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0 &&
         no_room(r, "disk/a", "disk/large", "cannot write disk/a: the file system is read-only; nothing was changed") &&
         no_room(r, "disk/new/a", "disk/large",
                 "cannot write disk/new/a: the file system is read-only; nothing was changed") &&
         holds_only(&r->files, "disk", "a full");
    size_t len;
    CLEANUP(free) char *text = scratch_read(&r->files, "disk/a", &len);
    return ok && strcmp(text, "old") == 0;
}

TEST_WITH(small_disk, setup, teardown)
{
    scratch_mkdir(&rig.files, "disk");
    tool_rig_in_child(try_small_disk, &rig, false);
}

TEST_WITH(chosen_hunks_are_applied, setup, teardown)
{
    scratch_write(&rig.files, "a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    struct change_set *set = change_set_new();
    struct change *change = add(set, "a");
    set_text(change, "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n");
    struct err err = ERR_INIT;
    struct diff *diff = change_diff(change, &err);
    assert_non_null(diff);
    assert_int_equal(diff->hunk_count, 2);
    bool keep[] = {false, true};
    assert_int_equal(change_keep_hunks(change, diff, keep, 3, &err), -1);
    assert_string_equal(err.text, "a has 2 hunks, not 3");
    assert_int_equal(change_keep_hunks(change, diff, keep, 2, &err), 0);
    diff_free(diff);
    expect_commit(set);
    expect_file("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n");
    change_set_free(set);
}

/* About the present difference. */
static int keep_hunks(struct change *change, const bool *keep, size_t count, struct err *err)
{
    struct diff *diff = change_diff(change, err);
    assert_non_null(diff);
    int kept = change_keep_hunks(change, diff, keep, count, err);
    diff_free(diff);
    return kept;
}

TEST_WITH(hunks_of_new_and_deleted_files, setup, teardown)
{
    bool no[] = {false}, yes[] = {true};
    struct err err = ERR_INIT;
    scratch_write(&rig.files, "old", "x\n");
    struct change_set *set = change_set_new();
    set_text(add(set, "new"), "n\n");
    assert_int_equal(keep_hunks(&set->items[0], yes, 1, &err), 0);
    assert_true(set->items[0].new.exists);
    assert_int_equal(keep_hunks(&set->items[0], no, 1, &err), 0);
    assert_false(set->items[0].new.exists); /* not an empty file */
    struct change *gone = add(set, "old");
    change_side_absent(&gone->new);
    assert_int_equal(keep_hunks(gone, yes, 1, &err), 0);
    assert_false(gone->new.exists);
    assert_int_equal(keep_hunks(gone, no, 1, &err), 0);
    assert_true(gone->new.exists);
    struct change *empty = add(set, "empty");
    set_text(empty, "");
    assert_int_equal(keep_hunks(empty, NULL, 0, &err), 0);
    assert_true(empty->new.exists);
    expect_commit(set);
    expect_file("new", NULL);
    expect_file("old", "x\n");
    expect_file("empty", "");
    change_set_free(set);
}
