/* Tests of scratch folders: those of a running program stay, and the next program removes those of a killed one. */

#include "base/mem.h"
#include "sandbox/scratch_dirs.h"
#include "support/scratch.h"
#include "support/test.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct scratch scratch;

static int begin(void **state)
{
    (void)state;
    scratch_init(&scratch);
    return 0;
}

static int end(void **state)
{
    (void)state;
    scratch_release(&scratch);
    return 0;
}

static struct scratch_dirs *open_scratch(void)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = scratch_path(&scratch, "r");
    struct scratch_dirs *dirs = scratch_dirs_open(folder, &err);
    if (!dirs)
        fail_msg("%s", err.text);
    return dirs;
}

TEST_WITH(scratch_dirs_are_private_and_removed, begin, end)
{
    struct err err = ERR_INIT;
    struct scratch_dirs *dirs = open_scratch(), *others = open_scratch();
    CLEANUP(free) char *room = scratch_dirs_make(dirs, "one", &err);
    CLEANUP(free) char *other = scratch_dirs_make(others, "one", &err);
    struct stat st;
    assert_int_equal(stat(room, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_null(scratch_dirs_make(dirs, "one", &err));
    assert_non_null(strstr(err.text, "cannot create the workspace"));
    scratch_dirs_close(open_scratch()); /* which looks for leftovers */
    assert_int_equal(access(room, F_OK) + access(other, F_OK), 0);
    scratch_dirs_close(dirs);
    assert_int_equal(access(room, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
    scratch_dirs_close(others);
    scratch_dirs_close(NULL);
    scratch_write(&scratch, "file", "x");
    CLEANUP(free) char *file = scratch_path(&scratch, "file");
    assert_null(scratch_dirs_open(file, &err));
}

TEST_WITH(folders_of_a_killed_program_are_removed, begin, end)
{
    struct err err = ERR_INIT;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t program = fork();
    if (program == 0) {
        struct scratch_dirs *dirs = open_scratch();
        char *room = scratch_dirs_make(dirs, "one", &err);
        (void)!write(ends[1], room ? "y" : "n", 1);
        pause();
    }
    char made = 0;
    assert_int_equal(read(ends[0], &made, 1), 1);
    assert_int_equal(made, 'y');
    scratch_dirs_close(open_scratch()); /* it lives */
    CLEANUP(free) char *there = scratch_list(&scratch, "r");
    assert_true(strlen(there) > 0);
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    scratch_dirs_close(open_scratch());
    CLEANUP(free) char *left = scratch_list(&scratch, "r");
    assert_string_equal(left, "");
    close(ends[0]);
    close(ends[1]);
}

static void make_old(const char *name)
{
    CLEANUP(free) char *path = scratch_path(&scratch, name);
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

TEST_WITH(folders_that_were_never_locked, begin, end)
{
    scratch_dirs_close(open_scratch());
    CLEANUP(free) char *old = scratch_path(&scratch, "r/boxes-old000");
    CLEANUP(free) char *young = scratch_path(&scratch, "r/boxes-young0");
    assert_int_equal(mkdir(old, 0700) + mkdir(young, 0700), 0);
    scratch_write(&scratch, "r/boxes-full00/a.txt", "x");
    make_old("r/boxes-old000");
    make_old("r/boxes-full00");
    scratch_dirs_close(open_scratch());
    assert_false(scratch_exists(&scratch, "r/boxes-old000"));
    assert_true(scratch_exists(&scratch, "r/boxes-young0")); /* its program may be about to lock it */
    assert_true(scratch_exists(&scratch, "r/boxes-full00/a.txt"));
}

TEST_WITH(scratch_folders, begin, end)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = scratch_path(&scratch, "");
    CLEANUP(free) char *before = getenv("TMPDIR") ? xstrdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", folder, 1);
    struct scratch_dirs *mine = scratch_dirs_open_scratch(&err);
    assert_non_null(mine);
    /* Leftovers, and files of other programs with such names. */
    scratch_write(&scratch, "keyturn-scratch-left00/lock", "");
    scratch_write(&scratch, "keyturn-scratch-left00/workspace/a.txt", "x");
    scratch_write(&scratch, "keyturn-scratch-open00/a.txt", "never locked");
    scratch_write(&scratch, "elsewhere/lock", "");
    CLEANUP(free) char *elsewhere = scratch_path(&scratch, "elsewhere");
    CLEANUP(free) char *link = scratch_path(&scratch, "keyturn-scratch-link00");
    assert_int_equal(symlink(elsewhere, link), 0);
    struct scratch_dirs *next = scratch_dirs_open_scratch(&err);
    assert_non_null(next);
    assert_false(scratch_exists(&scratch, "keyturn-scratch-left00"));
    assert_true(scratch_exists(&scratch, "keyturn-scratch-open00"));
    assert_true(scratch_exists(&scratch, "elsewhere/lock"));
    assert_int_equal(access(scratch_dirs_path(mine), F_OK), 0);
    scratch_dirs_close(mine);
    scratch_dirs_close(next);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
}
