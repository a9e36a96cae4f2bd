/* Rooms: one program's stay while it lives, a killed program's go with the next one. */

#include "base/mem.h"
#include "sandbox/rooms.h"
#include "support/scratch.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

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

static struct rooms *open_rooms(void)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = scratch_path(&scratch, "r");
    struct rooms *rooms = rooms_open(folder, &err);
    if (!rooms)
        fail_msg("%s", err.text);
    return rooms;
}

static void test_rooms(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct rooms *rooms = open_rooms(), *others = open_rooms();
    CLEANUP(free) char *room = rooms_make(rooms, "one", &err);
    CLEANUP(free) char *other = rooms_make(others, "one", &err);
    struct stat st;
    assert_int_equal(stat(room, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_null(rooms_make(rooms, "one", &err));
    assert_non_null(strstr(err.text, "cannot make the workspace"));
    rooms_close(open_rooms()); /* which looks for leftovers */
    assert_int_equal(access(room, F_OK) + access(other, F_OK), 0);
    rooms_close(rooms);
    assert_int_equal(access(room, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
    rooms_close(others);
    rooms_close(NULL);
    scratch_write(&scratch, "file", "x");
    CLEANUP(free) char *file = scratch_path(&scratch, "file");
    assert_null(rooms_open(file, &err));
}

static void test_what_a_killed_program_leaves(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t program = fork();
    if (program == 0) {
        struct rooms *rooms = open_rooms();
        char *room = rooms_make(rooms, "one", &err);
        (void)!write(ends[1], room ? "y" : "n", 1);
        pause();
    }
    char made = 0;
    assert_int_equal(read(ends[0], &made, 1), 1);
    assert_int_equal(made, 'y');
    rooms_close(open_rooms()); /* it lives */
    CLEANUP(free) char *there = scratch_list(&scratch, "r");
    assert_true(strlen(there) > 0);
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    rooms_close(open_rooms());
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

static void test_folders_that_were_never_locked(void **state)
{
    (void)state;
    rooms_close(open_rooms());
    CLEANUP(free) char *old = scratch_path(&scratch, "r/boxes-old000");
    CLEANUP(free) char *young = scratch_path(&scratch, "r/boxes-young0");
    assert_int_equal(mkdir(old, 0700) + mkdir(young, 0700), 0);
    scratch_write(&scratch, "r/boxes-full00/a.txt", "x");
    make_old("r/boxes-old000");
    make_old("r/boxes-full00");
    rooms_close(open_rooms());
    assert_false(scratch_exists(&scratch, "r/boxes-old000"));
    assert_true(scratch_exists(&scratch, "r/boxes-young0")); /* its program may be about to lock it */
    assert_true(scratch_exists(&scratch, "r/boxes-full00/a.txt"));
}

static void test_scratch_folders(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = scratch_path(&scratch, "");
    CLEANUP(free) char *before = getenv("TMPDIR") ? xstrdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", folder, 1);
    struct rooms *mine = rooms_open_scratch(&err);
    assert_non_null(mine);
    /* Left behind, and things of others that have such names. */
    scratch_write(&scratch, "keyturn-scratch-left00/lock", "");
    scratch_write(&scratch, "keyturn-scratch-left00/workspace/a.txt", "x");
    scratch_write(&scratch, "keyturn-scratch-open00/a.txt", "never locked");
    scratch_write(&scratch, "elsewhere/lock", "");
    CLEANUP(free) char *elsewhere = scratch_path(&scratch, "elsewhere");
    CLEANUP(free) char *link = scratch_path(&scratch, "keyturn-scratch-link00");
    assert_int_equal(symlink(elsewhere, link), 0);
    struct rooms *next = rooms_open_scratch(&err);
    assert_non_null(next);
    assert_false(scratch_exists(&scratch, "keyturn-scratch-left00"));
    assert_true(scratch_exists(&scratch, "keyturn-scratch-open00"));
    assert_true(scratch_exists(&scratch, "elsewhere/lock"));
    assert_int_equal(access(rooms_path(mine), F_OK), 0);
    rooms_close(mine);
    rooms_close(next);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rooms, begin, end),
        cmocka_unit_test_setup_teardown(test_scratch_folders, begin, end),
        cmocka_unit_test_setup_teardown(test_folders_that_were_never_locked, begin, end),
        cmocka_unit_test_setup_teardown(test_what_a_killed_program_leaves, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
