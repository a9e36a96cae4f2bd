/* Tests that no change of a workspace stays unnoticed, however a program hides it, and that a command which changes
 * nothing costs no walk. */

#include "base/mem.h"
#include "support/scratch.h"
#include "support/test.h"
#include "workspace/changes.h"
#include "workspace/look.h"
#include "workspace/workspace.h"
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct scratch scratch;
static struct workspace *ws;

static int set_up(void **state)
{
    struct err err = ERR_INIT;
    (void)state;
    scratch_init(&scratch);
    ws = workspace_create(&(struct workspace_options){.base = scratch.path, .local = true}, "w", NULL, &err);
    if (!ws)
        fail_msg("%s", err.text);
    return chdir(ws->path);
}

static int tear_down(void **state)
{
    (void)state;
    workspace_free(ws);
    assert_int_equal(chdir("/"), 0);
    scratch_release(&scratch);
    return 0;
}

#define CHANGES_TEST(NAME) TEST_WITH(NAME, set_up, tear_down)

static struct disk_count look(void)
{
    const struct workspace_look *seen = workspace_look(ws);
    struct disk_count count = seen->count;
    look_release(ws, seen);
    return count;
}

/* True if the next look walks. The one after it does not. */
static bool is_noticed(void)
{
    unsigned before = workspace_walks(ws).looks;
    look();
    unsigned after = workspace_walks(ws).looks;
    look();
    assert_int_equal(workspace_walks(ws).looks, after);
    return after != before;
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

CHANGES_TEST(every_kind_of_change_is_noticed)
{
    put("work/a", "a");
    mkdir("work/d", 0700);
    mkdir("work/d/e", 0700);
    look();
    assert_false(is_noticed());
    put("work/a", "more");
    assert_true(is_noticed());
    truncate("work/a", 1000);
    assert_true(is_noticed());
    put("work/d/e/deep", "x");
    assert_true(is_noticed());
    rename("work/d/e/deep", "out/deep");
    assert_true(is_noticed());
    symlink("nowhere", "work/l");
    assert_true(is_noticed());
    unlink("work/l");
    assert_true(is_noticed());
    mkfifo("runs/p", 0600);
    assert_true(is_noticed());
    rename("work/d", "work/dd");
    assert_true(is_noticed());
    put("work/dd/e/x", "a folder that moved is watched at its new place");
    assert_true(is_noticed());
    mkdir("work/new", 0700);
    assert_true(is_noticed());
    put("work/new/x", "so is a new one");
    assert_true(is_noticed());
    put("metadata.json", " ");
    assert_true(is_noticed());
    int fd = open("work/a", O_RDWR | O_CLOEXEC);
    assert_int_equal(fallocate(fd, 0, 0, 5000), 0);
    close(fd);
    assert_true(is_noticed());
}

/* Reading, and changes that no size tells, cost no walk. */
CHANGES_TEST(what_changes_nothing_is_not_noticed)
{
    char text[8];
    put("work/a", "abc");
    look();
    int fd = open("work/a", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), 3);
    close(fd);
    assert_int_equal(chmod("work/a", 0400), 0);
    assert_false(is_noticed());
}

/* Asynchronous writes are not reported, but the end of the file that they went to is. */
CHANGES_TEST(an_asynchronous_write_is_noticed)
{
    aio_context_t context = 0;
    static char bytes[4096];
    put("work/a", "a");
    look();
    int fd = open("work/a", O_WRONLY | O_CLOEXEC);
    struct iocb block = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                         .aio_fildes = (unsigned)fd,
                         .aio_buf = (uintptr_t)bytes,
                         .aio_nbytes = sizeof(bytes)},
                *blocks[] = {&block};
    struct io_event done;
    assert_int_equal(syscall(SYS_io_setup, 1, &context), 0);
    assert_int_equal(syscall(SYS_io_submit, context, 1L, blocks), 1);
    assert_int_equal(syscall(SYS_io_getevents, context, 1L, 1L, &done, NULL), 1);
    syscall(SYS_io_destroy, context);
    close(fd);
    assert_int_equal(look().bytes >= 4096, 1);
}

/* A running program can hold a file by a name that it removed with its folder: its writes are not reported. So a look
 * while it runs is never used again. */
CHANGES_TEST(what_a_running_program_hides_is_found)
{
    put("work/b", "b");
    look();
    workspace_program_begins(ws);
    mkdir("work/a", 0700);
    assert_int_equal(link("work/b", "work/a/x"), 0);
    int hidden = open("work/a/x", O_WRONLY | O_APPEND | O_CLOEXEC);
    unlink("work/a/x");
    rmdir("work/a");
    int64_t before = look().bytes;
    static const char bytes[10000];
    assert_int_equal(write(hidden, bytes, sizeof(bytes)), sizeof(bytes));
    assert_int_equal(look().bytes, before + 10000);
    assert_int_equal(write(hidden, bytes, sizeof(bytes)), sizeof(bytes));
    close(hidden);
    workspace_program_ended(ws, true);
    assert_int_equal(look().bytes, before + 20000);
    assert_false(is_noticed());
}

/* Killed is not ended. */
CHANGES_TEST(a_program_that_may_live_on_counts_as_running)
{
    workspace_program_begins(ws);
    workspace_program_ended(ws, false);
    look();
    unsigned before = workspace_walks(ws).looks;
    look();
    assert_int_equal(workspace_walks(ws).looks, before + 1);
}

/* A name outside of the workspace could change a file in it. */
CHANGES_TEST(a_file_with_a_name_outside_is_never_unchanged)
{
    CLEANUP(free) char *outside = xasprintf("%s/outside", scratch.path);
    put("work/a", "a");
    put("work/b", "b");
    assert_int_equal(link("work/b", "out/b"), 0);
    look();
    assert_false(is_noticed()); /* both names are inside */
    assert_int_equal(link("work/a", outside), 0);
    unlink("out/b");
    int64_t before = look().bytes;
    put(outside, "12345");
    assert_int_equal(look().bytes, before + 5);
}

/* ---- folders of runs ---- */

/* As programs.c makes and removes them. Returns the number of its watch. */
static int make_run(const char *name)
{
    CLEANUP(free) char *path = xasprintf("runs/%s", name);
    assert_int_equal(mkdir(path, 0700), 0);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), watch = changes_made(ws->changes, name, folder);
    close(folder);
    return watch;
}

static void remove_run(const char *name, int watch)
{
    CLEANUP(free) char *path = xasprintf("runs/%s", name);
    if (rmdir(path) == 0)
        changes_removed(ws->changes, name, watch);
    else
        changes_note(ws->changes);
}

CHANGES_TEST(an_empty_folder_of_a_run_is_no_change)
{
    look();
    remove_run("run_1", make_run("run_1"));
    assert_false(is_noticed());
    int watch = make_run("run_2");
    put("runs/run_2/kept", "x");
    remove_run("run_2", watch);
    assert_true(is_noticed());
    watch = make_run("run_3");
    put("runs/run_3/moved", "x");
    rename("runs/run_3/moved", "work/moved");
    remove_run("run_3", watch);
    assert_true(is_noticed());
    watch = make_run("run_4");
    mkdir("runs/other", 0700);
    remove_run("run_4", watch);
    assert_true(is_noticed());
}

/* A program that knows the name of the folder of its run cannot use it elsewhere. */
CHANGES_TEST(a_false_folder_of_a_run_is_noticed)
{
    look();
    rename("runs", "work/x");
    mkdir("runs", 0700);
    look();
    int watch = make_run("run_5");
    mkdir("work/x/run_5", 0700);
    put("work/x/run_5/hidden", "x");
    remove_run("run_5", watch);
    assert_true(is_noticed());
    watch = make_run("run_6");
    rmdir("runs/run_6");
    mkdir("runs/run_6", 0700);
    put("runs/run_6/hidden", "x");
    remove_run("run_6", watch);
    assert_true(is_noticed());
}

/* The false folder is empty again at the end, but a link in it led to a file of the workspace. */
CHANGES_TEST(a_folder_of_a_run_that_was_made_twice_is_noticed)
{
    put("work/file", "x");
    look();
    int watch = make_run("run_7");
    rmdir("runs/run_7");
    mkdir("runs/run_7", 0700);
    assert_int_equal(link("work/file", "runs/run_7/link"), 0);
    put("runs/run_7/link", "xxxx");
    unlink("runs/run_7/link");
    remove_run("run_7", watch);
    assert_true(is_noticed());
}

/* Reports that were lost are a report. */
CHANGES_TEST(too_many_changes_are_a_change)
{
    look();
    for (int i = 0; i < 20000; i++) {
        CLEANUP(free) char *path = xasprintf("work/%d", i % 2);
        put(path, "x");
    }
    assert_true(is_noticed());
    assert_int_equal(look().bytes >= 20000, 1);
}

/* On another machine anything may change. */
CHANGES_TEST(without_reports_every_look_walks)
{
    struct err err = ERR_INIT;
    struct workspace *far = workspace_create(&(struct workspace_options){.base = scratch.path}, "far", NULL, &err);
    look_release(far, workspace_look(far));
    look_release(far, workspace_look(far));
    assert_int_equal(workspace_walks(far).looks, 2);
    workspace_free(far);
}
