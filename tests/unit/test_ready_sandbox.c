/* Tests of the sandbox that stands ready for the next program: it runs what the call asks for and nothing else, and it
 * is never in anyone's way. */

#include "base/mem.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/workspace.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct program_rig rig;

static int set_up(void **state)
{
    (void)state;
    program_rig_open(&rig, "bwrap", &(struct programs_options){.prepare = true, .limits = {.pids = 40}});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    program_rig_close(&rig);
    return 0;
}

#define READY_TEST(NAME) TEST_WITH(NAME, set_up, tear_down)

static bool is_ready(void *none)
{
    (void)none;
    return programs_stand_ready(rig.programs, NULL);
}

static unsigned used(void)
{
    unsigned count;
    programs_stand_ready(rig.programs, &count);
    return count;
}

static void run(struct program_spec spec)
{
    struct err err = ERR_INIT;
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
}

static void make_ready(void)
{
    if (!is_ready(NULL))
        program_rig_sh(&rig, "true");
    program_rig_await(&rig, is_ready, NULL);
}

/* Calls `each` for every process whose command line names our folder. Returns their number. */
static int find_processes(void (*each)(int pid))
{
    int count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        char path[300], text[8192];
        int pid = isdigit((unsigned char)entry->d_name[0]) ? (int)strtol(entry->d_name, NULL, 10) : 0;
        snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
        int fd = pid && pid != getpid() ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text));
        if (fd >= 0)
            close(fd);
        if (len <= 0 || !memmem(text, (size_t)len, rig.folder, strlen(rig.folder)))
            continue;
        count++;
        if (each)
            each(pid);
    }
    closedir(proc);
    return count;
}

READY_TEST(the_first_program_starts_cold)
{
    assert_false(is_ready(NULL));
    assert_int_equal(find_processes(NULL), 0);
    program_rig_sh(&rig, "true");
    assert_int_equal(used(), 0);
}

READY_TEST(the_next_one_gets_all_that_its_call_says)
{
    make_ready();
    struct env_var vars[] = {{"A", "b c"}, {"EMPTY", ""}};
    run((struct program_spec){
        .cmd = "sh",
        .args = (const char *const[]){"-c", "cat; echo \"$1|$2|$A|$EMPTY.\"; pwd; exit 7", "sh", "", "x\ny", NULL},
        .cwd = "work/new",
        .env = {vars, COUNT_OF(vars)},
        .input = "typed ",
        .input_len = 6});
    assert_int_equal(used(), 1);
    assert_string_equal(rig.result.out.buf, "typed |x\ny|b c|.\n/workspace/work/new\n");
    assert_int_equal(rig.result.end.exit_code, 7);
    make_ready();
    run((struct program_spec){.cmd = "no-such-program"});
    assert_int_equal(used(), 2);
    assert_non_null(strstr(rig.result.why, "cannot start no-such-program: No such file"));
    make_ready();
    program_rig_sh(&rig, "kill -9 $$");
    assert_int_equal(used(), 3);
    assert_int_equal(rig.result.end.signum, SIGKILL);
}

READY_TEST(times_and_limits_begin_with_the_order)
{
    make_ready();
    run((struct program_spec){.cmd = "sleep", .args = (const char *const[]){"60", NULL}, .timeout_ms = 300});
    assert_int_equal(used(), 1);
    assert_true(rig.result.end.timed_out);
    make_ready();
    program_rig_sh(&rig, "i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; echo all");
    assert_int_equal(used(), 2);
    assert_null(strstr(rig.result.out.buf, "all"));
}

READY_TEST(nothing_of_a_program_outlives_it)
{
    make_ready();
    program_rig_sh(&rig, "sleep 77 & echo begun");
    assert_int_equal(used(), 1);
    assert_string_equal(rig.result.out.buf, "begun\n");
    assert_int_equal(rig.result.end.left_count, 1);
    assert_false(rig.result.left[0].survived);
}

READY_TEST(other_limits_start_cold)
{
    make_ready();
    run((struct program_spec){.cmd = "echo", .args = (const char *const[]){"x", NULL}, .limits = {.memory_mb = 99}});
    assert_string_equal(rig.result.out.buf, "x\n");
    make_ready();
    run((struct program_spec){.cmd = "echo", .args = (const char *const[]){"x", NULL}, .tty = true});
    assert_string_equal(rig.result.out.buf, "x\r\n");
    assert_int_equal(used(), 0);
}

/* An order has a limit, and a command may be longer. */
READY_TEST(a_long_command_starts_cold)
{
    CLEANUP(free) char *text = xmalloc(100001);
    memset(text, 'x', 100000);
    text[100000] = '\0';
    make_ready();
    run((struct program_spec){.cmd = "echo", .args = (const char *const[]){text, NULL}});
    assert_int_equal(rig.result.out.len, 100001);
    assert_int_equal(used(), 0);
}

/* ---- while it waits ---- */

static void kill_process(int pid)
{
    kill(pid, SIGKILL);
}

READY_TEST(one_that_died_is_replaced)
{
    make_ready();
    assert_true(find_processes(kill_process) > 0);
    program_rig_sh(&rig, "echo cold"); /* whether we know of its death yet or not */
    assert_string_equal(rig.result.out.buf, "cold\n");
    assert_null(rig.result.why);
    make_ready();
    program_rig_sh(&rig, "echo warm");
    assert_string_equal(rig.result.out.buf, "warm\n");
}

static long wakeups;

static void add_wakeups(int pid)
{
    char path[64], line[128];
    long count;
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1)
            wakeups += count;
    if (status)
        fclose(status);
}

READY_TEST(it_uses_no_processor_time)
{
    make_ready();
    usleep(300000); /* it is set up */
    assert_true(find_processes(add_wakeups) > 0);
    long before = wakeups;
    wakeups = 0;
    usleep(500000);
    find_processes(add_wakeups);
    assert_int_equal(wakeups, before);
}

READY_TEST(a_full_workspace_has_none)
{
    rig.ws->policy.max_disk_bytes = 1000;
    program_rig_sh(&rig, "head -c 3000 /dev/zero > work/a");
    usleep(100000);
    for (int i = 0; i < 3; i++)
        program_rig_sh(&rig, "sleep 0.1");
    assert_false(is_ready(NULL));
    assert_int_equal(used(), 0);
}

/* However we end. */
TEST(it_dies_with_keyturn)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        set_up(NULL);
        make_ready();
        usleep(200000);
        if (write(ends[1], rig.folder, strlen(rig.folder) + 1) > 0 && find_processes(NULL) > 0)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    char folder[256] = "";
    int status;
    close(ends[1]);
    assert_true(read(ends[0], folder, sizeof(folder) - 1) > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    close(ends[0]);
    rig.folder = folder;
    for (int i = 0; i < 500 && find_processes(NULL); i++)
        usleep(10000);
    assert_int_equal(find_processes(NULL), 0);
    CLEANUP(free) char *remove = xasprintf("rm -rf '%s'", folder);
    assert_int_equal(system(remove), 0);
}
