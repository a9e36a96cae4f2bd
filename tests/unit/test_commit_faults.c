/* Tests of a commit whose system calls fail at every possible place. Afterwards everything is new, or everything is old
 * and the error says so. The test compiles change_commit.c into this program to intercept the calls. */

#include "base/beneath.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/test.h"
#include "support/tool_rig.h"
#include "tools/change.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static struct {
    int countdown;           /* calls until one fails; 0: none does */
    int code;                /* errno of the one that fails */
    bool die;                /* or the process is killed there */
    int exchanges;           /* renames with flags until all further ones fail; 0: none does */
    bool no_flags;           /* a file system that knows neither exchange nor no-replace */
    time_t later;            /* added to the time */
    void (*on_rename)(void); /* called just before the first rename, as another process */
} fault;

static bool fails(void)
{
    if (fault.countdown == 0 || --fault.countdown > 0)
        return false;
    if (fault.die)
        raise(SIGKILL);
    errno = fault.code;
    return true;
}

static void meddle(void)
{
    void (*act)(void) = fault.on_rename;
    fault.on_rename = NULL;
    if (act)
        act();
}

static int faulty_fsync(int fd)
{
    return fails() ? -1 : fsync(fd);
}

static int faulty_fchmod(int fd, mode_t mode)
{
    return fails() ? -1 : fchmod(fd, mode);
}

static int faulty_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    meddle();
    return fails() ? -1 : renameat(from_fd, from, to_fd, to);
}

static int faulty_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (fault.no_flags) {
        errno = EINVAL;
        return -1;
    }
    meddle();
    if (fault.exchanges && --fault.exchanges == 0) {
        fault.exchanges = 1;
        errno = EIO;
        return -1;
    }
    return fails() ? -1 : renameat2(from_fd, from, to_fd, to, flags);
}

static int faulty_write_all(int fd, const void *bytes, size_t len)
{
    if (!fails())
        return file_write_all(fd, bytes, len);
    int code = errno;
    ssize_t part = write(fd, bytes, len / 2); /* a disk fills up in the middle */
    errno = part < 0 ? EIO : code;
    return -1;
}

static time_t faulty_time(time_t *out)
{
    (void)out;
    return time(NULL) + fault.later;
}

#define fsync          faulty_fsync
#define fchmod         faulty_fchmod
#define renameat       faulty_renameat
#define renameat2      faulty_renameat2
#define file_write_all faulty_write_all
#define time           faulty_time
#include "../../core/tools/attributes.c"
#include "../../core/tools/change_commit.c"
#undef fsync
#undef fchmod
#undef renameat
#undef renameat2
#undef file_write_all
#undef time

static struct tool_rig rig;

static int setup(void **state)
{
    (void)state;
    memset(&fault, 0, sizeof(fault));
    tool_rig_init(&rig);
    scratch_write(&rig.files, "edit", "edit old");
    scratch_write(&rig.files, "gone", "gone old");
    scratch_write(&rig.files, "d/two", "two old");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
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

/* An edit, a new file in a new folder, a deletion, an edit elsewhere. */
static struct change_set *make_set(void)
{
    static const struct {
        const char *path, *text;
    } changes[] = {{"edit", "edit new"}, {"p/q/made", "made new"}, {"gone", NULL}, {"d/two", "two new"}};
    struct change_set *set = change_set_new();
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        struct err err = ERR_INIT;
        struct change *change = change_set_add(set, rig.root, changes[i].path, &err);
        assert_non_null(change);
        if (changes[i].text)
            change_side_set(&change->new, changes[i].text, strlen(changes[i].text), 0644);
        else
            change_side_absent(&change->new);
    }
    return set;
}

static void expect_old(void)
{
    expect_file("edit", "edit old");
    expect_file("gone", "gone old");
    expect_file("d/two", "two old");
    CLEANUP(free) char *names = scratch_list(&rig.files, ".");
    assert_string_equal(names, "d edit gone");
    CLEANUP(free) char *below = scratch_list(&rig.files, "d");
    assert_string_equal(below, "two");
}

static void expect_new(void)
{
    expect_file("edit", "edit new");
    expect_file("p/q/made", "made new");
    expect_file("d/two", "two new");
    CLEANUP(free) char *names = scratch_list(&rig.files, ".");
    assert_string_equal(names, "d edit p");
    CLEANUP(free) char *below = scratch_list(&rig.files, "d");
    assert_string_equal(below, "two");
}

/* Lets the n-th call fail for every n, until a commit gets through. */
static void fail_everywhere(bool no_flags, int code)
{
    int failures = 0;
    for (int n = 1;; n++) {
        struct change_set *set = make_set();
        struct err err = ERR_INIT;
        fault.no_flags = no_flags;
        fault.code = code;
        fault.countdown = n;
        int rc = change_set_commit(set, rig.root, &err);
        bool none_failed = fault.countdown > 0;
        fault.countdown = 0;
        change_set_free(set);
        if (none_failed) {
            assert_int_equal(rc, 0);
            break;
        }
        if (rc == 0)
            fail_msg("call %d failed without an error", n);
        failures++;
        assert_non_null(strstr(err.text, "; nothing was changed"));
        expect_old();
    }
    expect_new();
    assert_true(failures >= 10);
}

TEST_WITH(full_disk_everywhere, setup, teardown)
{
    fail_everywhere(false, ENOSPC);
}

TEST_WITH(broken_disk_everywhere, setup, teardown)
{
    fail_everywhere(false, EIO);
}

TEST_WITH(everywhere_without_exchange, setup, teardown)
{
    fail_everywhere(true, ENOSPC);
}

TEST_WITH(a_file_system_without_flags, setup, teardown)
{
    fault.no_flags = true;
    struct change_set *set = make_set();
    struct err err = ERR_INIT;
    assert_int_equal(change_set_commit(set, rig.root, &err), 0);
    expect_new();
    change_set_free(set);
}

/* Killed at every call: each file is whole, old or new, and the next commit an hour later takes the litter away. */
TEST_WITH(killed_everywhere, setup, teardown)
{
    bool through = false;
    for (int n = 1; !through; n++) {
        teardown(NULL);
        setup(NULL);
        struct change_set *set = make_set();
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct err err = ERR_INIT;
            fault.die = true;
            fault.countdown = n;
            _exit(change_set_commit(set, rig.root, &err) == 0 ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        through = WIFEXITED(status);
        assert_true(through ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL);
        change_set_free(set);

        static const char *const names[] = {"edit", "d/two", "gone", "p/q/made"};
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            CLEANUP(free) char *text = scratch_read(&rig.files, names[i], NULL);
            bool whole = text ? strlen(text) > 4 && (strcmp(text + strlen(text) - 4, " old") == 0 ||
                                                     strcmp(text + strlen(text) - 4, " new") == 0)
                              : i >= 2;
            if (!whole)
                fail_msg("killed at call %d, %s holds \"%s\"", n, names[i], text ? text : "(nothing)");
        }
        static const char *const later[] = {"later", "d/later", "p/q/later"};
        fault.later = LEFTOVER_S + 60;
        for (size_t i = 0; i < COUNT_OF(later); i++) {
            struct err err = ERR_INIT;
            struct change_set *next = change_set_new();
            struct change *change = change_set_add(next, rig.root, later[i], &err);
            change_side_set(&change->new, "x", 1, 0644);
            assert_int_equal(change_set_commit(next, rig.root, &err), 0);
            change_set_free(next);
        }
        tool_rig_expect_no_leftovers(&rig);
    }
}

TEST_WITH(only_our_old_temporary_files_are_removed, setup, teardown)
{
    scratch_write(&rig.files, ".keyturn-0123456789abcdef.tmp", "ours");
    scratch_write(&rig.files, ".keyturn-0123456789abcdef.tmp2", "not");
    scratch_write(&rig.files, ".keyturn-0123456789ABCDEF.tmp", "not");
    scratch_mkdir(&rig.files, ".keyturn-00000000000000ff.tmp");
    struct change_set *set = make_set();
    struct err err = ERR_INIT;
    fault.later = LEFTOVER_S - 60;
    assert_int_equal(change_set_commit(set, rig.root, &err), 0);
    assert_true(scratch_exists(&rig.files, ".keyturn-0123456789abcdef.tmp"));
    change_set_free(set);
    set = change_set_new();
    struct change *change = change_set_add(set, rig.root, "edit", &err);
    change_side_set(&change->new, "again", 5, 0644);
    fault.later = LEFTOVER_S + 60;
    assert_int_equal(change_set_commit(set, rig.root, &err), 0);
    assert_false(scratch_exists(&rig.files, ".keyturn-0123456789abcdef.tmp"));
    assert_true(scratch_exists(&rig.files, ".keyturn-0123456789abcdef.tmp2"));
    assert_true(scratch_exists(&rig.files, ".keyturn-0123456789ABCDEF.tmp"));
    assert_true(scratch_exists(&rig.files, ".keyturn-00000000000000ff.tmp"));
    change_set_free(set);
}

/* Another process acts between the check and the rename: its bytes survive. */

static void they_edit(void)
{
    scratch_write(&rig.files, "edit", "edit OLD");
}

static void they_replace(void)
{
    CLEANUP(free) char *path = scratch_path(&rig.files, "edit");
    unlink(path);
    assert_int_equal(symlink("gone", path), 0);
}

static void they_create(void)
{
    scratch_write(&rig.files, "p/q/made", "theirs");
}

static void they_delete(void)
{
    scratch_remove(&rig.files, "edit");
}

static void lose_race(void (*act)(void), bool no_flags, const char *text)
{
    struct change_set *set = make_set();
    struct err err = ERR_INIT;
    fault.no_flags = no_flags;
    fault.on_rename = act;
    assert_int_equal(change_set_commit(set, rig.root, &err), -1);
    assert_string_equal(err.text, text);
    assert_null(fault.on_rename);
    tool_rig_expect_no_leftovers(&rig);
    change_set_free(set);
}

static void they_make_a_folder(void)
{
    scratch_remove(&rig.files, "edit");
    scratch_write(&rig.files, "edit/theirs", "in the folder");
}

/* No rename puts a folder where a file is, so it has to be exchanged back. */
TEST_WITH(a_folder_in_the_last_moment, setup, teardown)
{
    lose_race(they_make_a_folder, false, "edit was changed by someone else since it was read; nothing was changed");
    expect_file("edit/theirs", "in the folder");
    expect_file("gone", "gone old");
}

TEST_WITH(an_edit_in_the_last_moment, setup, teardown)
{
    lose_race(they_edit, false, "edit was changed by someone else since it was read; nothing was changed");
    expect_file("edit", "edit OLD");
    expect_file("gone", "gone old");
}

TEST_WITH(a_link_in_the_last_moment, setup, teardown)
{
    lose_race(they_replace, false, "edit was changed by someone else since it was read; nothing was changed");
    CLEANUP(free) char *path = scratch_path(&rig.files, "edit");
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    expect_file("gone", "gone old");
}

TEST_WITH(a_file_made_in_the_last_moment, setup, teardown)
{
    lose_race(they_create, false, "p/q/made was created by someone else since it was read; nothing was changed");
    expect_file("p/q/made", "theirs");
    expect_file("edit", "edit old");
}

TEST_WITH(a_file_deleted_in_the_last_moment, setup, teardown)
{
    lose_race(they_delete, false, "edit was changed by someone else since it was read; nothing was changed");
    expect_file("edit", NULL);
    expect_file("gone", "gone old");
}

/* The old file cannot be put back. The error names its only copy, and no later commit removes that. */
TEST_WITH(the_only_copy_is_kept, setup, teardown)
{
    struct change_set *set = make_set();
    struct err err = ERR_INIT;
    fault.exchanges = 2;
    assert_int_equal(change_set_commit(set, rig.root, &err), -1);
    change_set_free(set);
    fault.exchanges = 0;
    const char *said = strstr(err.text, "; cannot restore edit, its old content is in edit.keyturn-kept-");
    assert_non_null(said);
    const char *kept = strrchr(err.text, ' ') + 1;
    expect_file("edit", "edit new");
    expect_file(kept, "edit old");
    tool_rig_expect_no_leftovers(&rig);
    fault.later = 100 * LEFTOVER_S;
    set = change_set_new();
    struct change *change = change_set_add(set, rig.root, "gone", &err);
    assert_non_null(change);
    change_side_set(&change->new, "later", 5, 0644);
    assert_int_equal(change_set_commit(set, rig.root, &err), 0);
    change_set_free(set);
    expect_file(kept, "edit old");
}

/* Returns true if the file, or its saved copy, has this content. */
static bool any_edit_has(const char *text)
{
    CLEANUP(free) char *names = scratch_list(&rig.files, ".");
    bool found = false;
    for (char *at = names; *at && !found;) {
        size_t len = strcspn(at, " ");
        CLEANUP(free) char *name = xmemdup0(at, len);
        CLEANUP(free) char *content = strncmp(name, "edit", 4) == 0 ? scratch_read(&rig.files, name, NULL) : NULL;
        found = content && strcmp(content, text) == 0;
        at += len + (at[len] == ' ');
    }
    return found;
}

/* Killed between the exchange and the check of the result, which holds a foreign edit: no cleanup removes the only copy
 * of that edit. */
TEST_WITH(a_foreign_edit_survives_a_kill, setup, teardown)
{
    bool through = false;
    for (int n = 1; !through; n++) {
        teardown(NULL);
        setup(NULL);
        struct change_set *set = make_set();
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct err err = ERR_INIT;
            fault.die = true;
            fault.countdown = n;
            fault.on_rename = they_edit;
            _exit(change_set_commit(set, rig.root, &err) == 0 ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        through = WIFEXITED(status);
        change_set_free(set);
        struct err err = ERR_INIT;
        fault.later = LEFTOVER_S + 60;
        set = change_set_new();
        struct change *change = change_set_add(set, rig.root, "later", &err);
        change_side_set(&change->new, "x", 1, 0644);
        assert_int_equal(change_set_commit(set, rig.root, &err), 0);
        change_set_free(set);
        if (!any_edit_has("edit OLD") && !any_edit_has("edit old"))
            fail_msg("killed at call %d, the edit is gone", n);
    }
}

/* Every file that could not be put back is named. */
TEST_WITH(lost_attributes_are_all_reported, setup, teardown)
{
    struct change_set *set = change_set_new();
    struct err err = ERR_INIT;
    static const char *const paths[] = {"edit", "gone", "d/two"};
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        change_side_set(&change_set_add(set, rig.root, paths[i], &err)->new, "new", 3, 0644);
    fault.exchanges = 3;
    assert_int_equal(change_set_commit(set, rig.root, &err), -1);
    change_set_free(set);
    assert_non_null(strstr(err.text, "; cannot restore gone, its old content is in gone.keyturn-kept-"));
    assert_non_null(strstr(err.text, "; cannot restore edit, its old content is in edit.keyturn-kept-"));
}
