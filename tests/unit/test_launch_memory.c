/* Tests of the memory that keyturn-launch counts: of one process from /proc, and the sum of several. */

#include "base/processes.h"
#include "launch.h"
#include "support/test.h"
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB       (1 << 20)
#define CHILDREN 3

static struct processes all;

/* ---- texts ---- */

TEST(memory_is_read_from_status)
{
    unsigned long kb = 7;
    assert_true(launch_memory_status("Name:\tRssAnon:\nVmPeak:\t 9000 kB\nVmRSS:\t 900 kB\nRssAnon:\t     112 kB\n"
                                     "RssFile:\t    1596 kB\nRssShmem:\t      20 kB\nVmPTE:\t      48 kB\n"
                                     "VmSwap:\t       1 kB\nHugetlbPages:\t    2048 kB\n",
                                     &kb));
    assert_int_equal(kb, 112 + 20 + 48 + 1 + 2048);
    assert_false(launch_memory_status("Name:\tgone\nState:\tZ (zombie)\nThreads:\t1\n", &kb));
    assert_int_equal(kb, 0);
    assert_false(launch_memory_status("", &kb));
}

TEST(memory_is_read_from_smaps_rollup)
{
    unsigned long kb = 7;
    assert_true(launch_memory_rollup(
        "55-7f ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  500 kB\n"
        "Pss_Anon:  100 kB\nPss_File:  300 kB\nPss_Shmem:  30 kB\nPrivate_Hugetlb:  2048 kB\nSwapPss:  4 kB\n",
        &kb));
    assert_int_equal(kb, 2182);
    /* An old kernel gives nothing usable. */
    assert_false(launch_memory_rollup("55-7f ---p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  500 kB\n", &kb));
}

/* ---- processes ---- */

/* Not malloc, which may keep freed memory; and the compiler must not drop memory that is never read. */
static void take(size_t mb)
{
    volatile char *memory = mmap(NULL, (mb + 1) * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)(uintptr_t)memory == MAP_FAILED)
        _exit(1);
    for (size_t at = 0; at < mb * MB; at += 4096)
        memory[at] = 1;
}

static const struct processes *find_children(void)
{
    processes_read(&all);
    for (size_t i = 0; i < all.count; i++)
        all.items[i].ours = all.items[i].parent == getpid();
    processes_mark_below(&all);
    processes_keep_ours(&all);
    return &all;
}

static void start_children(pid_t *pids, size_t own_mb)
{
    for (size_t i = 0; i < CHILDREN; i++) {
        int ends[2];
        char ready;
        assert_int_equal(pipe(ends), 0);
        if ((pids[i] = fork()) == 0) {
            take(own_mb);
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failing test leaves no process */
            if (write(ends[1], "r", 1) == 1)
                pause();
            _exit(0);
        }
        assert_int_equal(read(ends[0], &ready, 1), 1);
        close(ends[0]);
        close(ends[1]);
    }
}

static void end_children(const pid_t *pids)
{
    for (size_t i = 0; i < CHILDREN; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
}

static unsigned long look(unsigned long limit_mb)
{
    int wait = -1;
    launch_memory_begin(&(struct memory_watch){.limit_mb = limit_mb, .find = find_children});
    unsigned long held = launch_memory_over(&wait);
    assert_int_equal(wait >= 0 && wait <= MEMORY_WATCH_MS, limit_mb != 0);
    return held;
}

TEST(sum_of_several)
{
    pid_t pids[CHILDREN];
    start_children(pids, 40);
    unsigned long held = look(100);
    assert_true(held >= 120 && held < 200);
    assert_int_equal(look(300), 0);
    assert_int_equal(look(0), 0); /* without a process */
    end_children(pids);
    assert_int_equal(look(100), 0);
}

/* Each of them maps the same 60 MB. */
TEST(pages_shared_by_forks_count_once)
{
    pid_t pids[CHILDREN];
    unsigned long kb = 0;
    size_t size = 60 * MB;
    char *same = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(same, MAP_FAILED);
    memset(same, 1, size);
    start_children(pids, 0);
    assert_int_equal(same[size - 1], 1);
    assert_int_equal(look(100), 0);
    /* The first count alone would have been too much. */
    for (size_t i = 0; i < CHILDREN; i++) {
        char path[64], text[4096] = "";
        unsigned long own = 0;
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pids[i]);
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
        fclose(file);
        assert_true(launch_memory_status(text, &own));
        kb += own;
    }
    assert_true(kb > 100 * 1024);
    end_children(pids);
    munmap(same, size);
}

TEST(shared_memory_counts)
{
    pid_t pids[CHILDREN];
    char *shared = mmap(NULL, 90 * MB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    pid_t toucher = fork();
    if (toucher == 0) {
        memset(shared, 1, 90 * MB); /* shared with us, because we read it */
        pause();
        _exit(0);
    }
    while (*(volatile char *)(shared + 90 * MB - 1) == 0)
        usleep(1000);
    start_children(pids, 0);
    assert_true(look(64) > 64);
    kill(toucher, SIGKILL);
    waitpid(toucher, NULL, 0);
    end_children(pids);
    munmap(shared, 90 * MB);
}

/* The child of vfork runs in its parent's memory. */
TEST(a_child_of_vfork_counts_once)
{
    int ends[2];
    char ready;
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        take(60);
        if (vfork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failing test leaves no process */
            if (write(ends[1], "r", 1) == 1)
                pause();
            _exit(0);
        }
        _exit(0);
    }
    assert_int_equal(read(ends[0], &ready, 1), 1);
    processes_read(&all);
    int child = 0;
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].parent == parent)
            child = all.items[i].pid;
    assert_true(child > 0);
    int wait = -1;
    launch_memory_begin(&(struct memory_watch){.limit_mb = 100, .find = find_children});
    assert_int_equal(launch_memory_over(&wait), 0);
    kill(child, SIGKILL);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    close(ends[0]);
    close(ends[1]);
}

/* Without descriptors for /proc it can count nothing, and must not return a sum of zero. */
TEST(unreadable_proc_is_reported)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit none = {3, 3};
        int wait = -1;
        launch_memory_begin(&(struct memory_watch){.limit_mb = 100, .find = find_children});
        bool saw = launch_memory_over(&wait) == 0;
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        setrlimit(RLIMIT_NOFILE, &none);
        launch_memory_begin(&(struct memory_watch){.limit_mb = 100, .find = find_children});
        _exit(saw && launch_memory_over(&wait) == MEMORY_UNSEEN ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int release_processes(void **state)
{
    (void)state;
    processes_release(&all);
    return 0;
}

TEST_GROUP(NULL, release_processes)
