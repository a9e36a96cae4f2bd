/* Children: streams, exit, groups, and that nothing outlives its parent. Real processes on a real clock; the loop
 * sleeps until they do something. */

#include "base/err.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/strbuf.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct loop *loop;

/* One child and what it did. */
struct child {
    struct proc *proc;
    struct strbuf out, err;
    int out_ends, err_ends, exits;
    int status, signum;
    bool free_on_output, free_on_exit;
    int kill_on_output;
};

static void on_stdout(void *data, const char *bytes, size_t len)
{
    struct child *child = data;
    assert_int_equal(child->out_ends, 0);
    assert_int_equal(child->exits, 0);
    strbuf_add(&child->out, bytes, len);
    child->out_ends += len == 0;
    bool line = strchr(child->out.buf, '\n') != NULL;
    if (line && child->kill_on_output)
        proc_kill(child->proc, child->kill_on_output);
    if (line && child->free_on_output) {
        proc_free(child->proc);
        child->proc = NULL;
    }
}

static void on_stderr(void *data, const char *bytes, size_t len)
{
    struct child *child = data;
    assert_int_equal(child->err_ends, 0);
    strbuf_add(&child->err, bytes, len);
    child->err_ends += len == 0;
}

static void on_exit_(void *data, int status, int signum)
{
    struct child *child = data;
    assert_int_equal(child->out_ends, 1);
    assert_int_equal(child->err_ends, 1);
    child->exits++;
    child->status = status;
    child->signum = signum;
    if (child->free_on_exit) {
        proc_free(child->proc);
        child->proc = NULL;
    }
}

static void child_init(struct child *child)
{
    *child = (struct child){.out = STRBUF_INIT, .err = STRBUF_INIT};
}

static void child_release(struct child *child)
{
    proc_free(child->proc);
    strbuf_release(&child->out);
    strbuf_release(&child->err);
}

static void start_options(struct child *child, struct proc_options options)
{
    child_init(child);
    options.on_stdout = on_stdout;
    options.on_stderr = on_stderr;
    options.on_exit = on_exit_;
    options.data = child;
    struct err err = ERR_INIT;
    child->proc = proc_start(loop, &options, &err);
    if (!child->proc)
        fail_msg("%s", err.text);
    assert_true(proc_pid(child->proc) > 0);
}

static void start_shell(struct child *child, const char *script, bool want_stdin)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    start_options(child, (struct proc_options){.argv = argv, .want_stdin = want_stdin});
}

static int begin(void **state)
{
    (void)state;
    loop = loop_new(clock_system());
    return 0;
}

static int end(void **state)
{
    (void)state;
    loop_free(loop);
    return 0;
}

/* Dead, or a zombie that whoever adopted it has not buried yet. */
static bool is_dead(int pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    struct strbuf text = STRBUF_INIT;
    bool gone = file_read(path, &text, 0, NULL) != 0;
    const char *name_end = strrchr(text.buf, ')');
    bool dead = gone || !name_end || name_end[2] == 'Z' || name_end[2] == 'X';
    strbuf_release(&text);
    return dead;
}

static void assert_dies(int pid)
{
    assert_true(pid > 1);
    for (int i = 0; i < 5000; i++) {
        if (is_dead(pid))
            return;
        usleep(1000);
    }
    fail_msg("process %d lives on", pid);
}

static int number_in(const struct strbuf *text)
{
    return (int)strtol(text->buf, NULL, 10);
}

static void test_streams_and_exit_code(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "echo out; echo err >&2; exit 3", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "out\n");
    assert_string_equal(child.err.buf, "err\n");
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 3);
    assert_int_equal(child.signum, 0);
    child_release(&child);
}

static void test_death_by_signal(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "kill -TERM $$", false);
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, -1);
    assert_int_equal(child.signum, SIGTERM);
    proc_kill(child.proc, SIGKILL); /* too late, and harmless */
    child_release(&child);
}

static void test_stdin(void **state)
{
    (void)state;
    /* More than the pipes hold, both ways at once. */
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    for (int i = 0; i < 200000; i++)
        strbuf_addf(&bytes, "%d\n", i);
    struct child child;
    start_shell(&child, "cat; echo done >&2", true);
    proc_write(child.proc, bytes.buf, bytes.len);
    proc_write(child.proc, "", 0);
    proc_write(child.proc, "last", 4);
    proc_close_stdin(child.proc);
    proc_close_stdin(child.proc);
    proc_write(child.proc, "not any more", 12);
    strbuf_addstr(&bytes, "last");
    loop_run(loop);
    assert_int_equal(child.out.len, bytes.len);
    assert_memory_equal(child.out.buf, bytes.buf, bytes.len);
    assert_string_equal(child.err.buf, "done\n");
    assert_int_equal(child.status, 0);
    child_release(&child);
}

static void test_a_child_that_does_not_read(void **state)
{
    (void)state;
    CLEANUP(strbuf) struct strbuf bytes = STRBUF_INIT;
    strbuf_grow(&bytes, 1000000);
    memset(bytes.buf, 'x', 1000000);
    struct child child;
    start_shell(&child, "exec 0<&-; echo started; exit 0", true);
    proc_write(child.proc, bytes.buf, 1000000); /* the pipe breaks; SIGPIPE must not kill us */
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 0);
    proc_write(child.proc, "x", 1);
    proc_close_stdin(child.proc);
    child_release(&child);
}

static void test_no_stdin_is_empty(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "cat; echo $?", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "0\n");
    child_release(&child);
}

static void test_streams_can_be_opened_by_name(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "echo one > /dev/stdout; echo two > /dev/stderr", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "one\n");
    assert_string_equal(child.err.buf, "two\n");
    child_release(&child);
}

static void on_bare_exit(void *data, int status, int signum)
{
    *(int *)data = status * 1000 + signum;
}

static void test_without_streams(void **state)
{
    (void)state;
    const char *argv[] = {"sh", "-c", "echo to nobody; echo x >&2; exit 4", NULL};
    int seen = -1;
    struct proc_options options = {.argv = argv, .on_exit = on_bare_exit, .data = &seen};
    struct err err = ERR_INIT;
    struct proc *proc = proc_start(loop, &options, &err);
    assert_non_null(proc);
    loop_run(loop);
    assert_int_equal(seen, 4000);
    proc_free(proc);
}

static void test_environment_folder_and_path(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-proc-", &err);
    CLEANUP(free) char *program = xasprintf("%s/keyturn-test-program", folder);
    static const char script[] = "#!/bin/sh\nIFS= read -r x </dev/null\necho \"$0 $1 $COLOUR $HOME $(pwd -P)\"\n";
    assert_int_equal(file_replace(program, script, sizeof(script) - 1, 0755, &err), 0);
    CLEANUP(free) char *blind = xasprintf("%s/blind", folder);
    CLEANUP(free) char *decoy = xasprintf("%s/blind/keyturn-test-program", folder);
    assert_int_equal(file_mkdirs(decoy, 0755, &err), 0); /* a folder of that name is no program */
    CLEANUP(free) char *path = xasprintf("PATH=/nowhere::%s:%s:/usr/bin:/bin", blind, folder);
    CLEANUP(free) char *real = realpath(folder, NULL);

    const char *argv[] = {"keyturn-test-program", "a b", NULL};
    const char *env[] = {"COLOUR=blue", path, NULL};
    struct child child;
    start_options(&child, (struct proc_options){.argv = argv, .env = env, .cwd = folder});
    loop_run(loop);
    CLEANUP(free) char *want = xasprintf("%s a b blue  %s\n", program, real);
    assert_string_equal(child.out.buf, want);
    child_release(&child);

    /* Not in our PATH; and what is in the folder is not run just because PATH has a relative entry. */
    struct proc_options options = {.argv = argv, .cwd = folder};
    assert_null(proc_start(loop, &options, &err));
    assert_string_equal(err.text, "cannot start keyturn-test-program: it is not in PATH");
    assert_int_equal(err.code, ENOENT);
    const char *dot[] = {"PATH=.:", NULL};
    options.env = dot;
    assert_null(proc_start(loop, &options, &err));
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

static void test_failures_name_the_cause(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    const char *missing[] = {"/no/such/program", NULL};
    struct child child;
    child_init(&child);
    struct proc_options options = {.argv = missing,
                                   .want_stdin = true,
                                   .on_stdout = on_stdout,
                                   .on_stderr = on_stderr,
                                   .on_exit = on_exit_,
                                   .data = &child};
    assert_null(proc_start(loop, &options, &err));
    assert_string_equal(err.text, "cannot start /no/such/program: No such file or directory");
    assert_int_equal(err.code, ENOENT);
    const char *fine[] = {"sh", NULL};
    options.argv = fine;
    options.cwd = "/no/such/folder";
    assert_null(proc_start(loop, &options, &err));
    assert_string_equal(err.text, "cannot start sh in /no/such/folder: No such file or directory");
    options.argv = (const char *const[]){"/etc/passwd", NULL};
    options.cwd = NULL;
    assert_null(proc_start(loop, &options, &err));
    assert_int_equal(err.code, EACCES);
    loop_run(loop);
    assert_int_equal(child.exits + child.out_ends + child.err_ends, 0);
    child_release(&child);
}

static void test_kill_reaches_grandchildren(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "sleep 100 & echo $!; wait", false);
    child.kill_on_output = SIGTERM;
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.signum, SIGTERM);
    assert_dies(number_in(&child.out));
    child_release(&child);
}

static void test_free_reaches_grandchildren(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "trap '' TERM HUP; sleep 100 & echo $!; wait", false);
    int pid = proc_pid(child.proc);
    child.free_on_output = true;
    loop_run(loop);
    assert_null(child.proc);
    assert_int_equal(child.exits, 0); /* no callback after the free */
    assert_int_equal(child.out_ends, 0);
    assert_dies(number_in(&child.out));
    assert_dies(pid);
    assert_int_equal(kill(pid, 0), -1); /* and buried: no zombie of ours is left */
    assert_int_equal(errno, ESRCH);
    child_release(&child);
}

static void test_free_without_running_the_loop(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "sleep 100", true);
    int pid = proc_pid(child.proc);
    proc_write(child.proc, "x", 1);
    proc_free(child.proc);
    child.proc = NULL;
    loop_free(loop); /* waits for the child it has just killed */
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(child.exits, 0);
    child_release(&child);
    loop = loop_new(clock_system());
}

static void test_what_a_child_leaves_behind_dies(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "sleep 100 & echo $!; exit 5", false);
    loop_run(loop); /* and the pipe it holds does not delay the exit */
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 5);
    assert_dies(number_in(&child.out));
    child_release(&child);
}

static void test_a_runaway_does_not_hold_the_streams(void **state)
{
    (void)state;
    struct child child;
    /* Out of the group, with the pipes still open. */
    start_shell(&child, "setsid sleep 100 & echo $!; sleep 0.1; echo last; exit 0", false);
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 0);
    assert_non_null(strstr(child.out.buf, "last\n"));
    int pid = number_in(&child.out);
    assert_false(is_dead(pid)); /* else this tested nothing */
    kill(pid, SIGKILL);
    child_release(&child);
}

static void test_free_from_callbacks(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "echo x; exit 1", false);
    child.free_on_exit = true;
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_null(child.proc);
    child_release(&child);
    proc_free(NULL);
}

static void test_many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    struct child children[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char script[64];
        snprintf(script, sizeof(script), "echo %d; exit %d", i, i);
        start_shell(&children[i], script, i % 2);
    }
    loop_run(loop);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(number_in(&children[i].out), i);
        assert_int_equal(children[i].status, i);
        assert_int_equal(children[i].exits, 1);
        child_release(&children[i]);
    }
}

static void test_in_virtual_time(void **state)
{
    (void)state;
    struct loop *real = loop;
    struct fake_clock fake;
    fake_clock_init(&fake);
    loop = loop_new(&fake.base);
    struct child child;
    start_shell(&child, "echo hello", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "hello\n");
    assert_int_equal(child.exits, 1);
    child_release(&child);
    loop_free(loop);
    loop = real;
}

/* What a child left in the pipe while nobody read is there when somebody reads again, and the end comes after it. */
static struct {
    struct loop_timer timer;
    struct child *child;
    size_t seen;
} pausing;

static void unpause(struct loop_timer *timer)
{
    (void)timer;
    pausing.seen = pausing.child->out.len;
    assert_int_equal(pausing.child->exits, 0);
    proc_pause(pausing.child->proc, false);
}

static void test_pause(void **state)
{
    (void)state;
    struct child child;
    start_shell(&child, "echo one; echo two", false);
    proc_pause(child.proc, true);
    proc_pause(child.proc, true);
    pausing.child = &child;
    loop_timer_start(loop, &pausing.timer, loop_now_us(loop) + 600000, unpause);
    loop_run(loop);
    assert_int_equal(pausing.seen, 0);
    assert_string_equal(child.out.buf, "one\ntwo\n");
    assert_int_equal(child.exits, 1);
    child_release(&child);
}

static void test_no_descriptor_is_inherited(void **state)
{
    (void)state;
    int careless = dup(STDERR_FILENO); /* without O_CLOEXEC */
    assert_true(careless > 2);
    struct child child;
    start_shell(&child, "ls /proc/self/fd | wc -l", false);
    loop_run(loop);
    assert_int_equal(number_in(&child.out), 4); /* three, and the folder that ls reads */
    close(careless);
    child_release(&child);
}

static void test_a_child_dies_with_us(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct loop *own = loop_new(clock_system());
        const char *argv[] = {"sleep", "100", NULL};
        struct proc_options options = {.argv = argv};
        struct proc *proc = proc_start(own, &options, NULL);
        int pid = proc ? proc_pid(proc) : 0;
        (void)!write(ends[1], &pid, sizeof(pid));
        pause();
    }
    int pid = 0;
    assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
    assert_false(is_dead(pid));
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_dies(pid);
    close(ends[0]);
    close(ends[1]);
}

static void test_aside(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-proc-", &err);
    CLEANUP(free) char *made = xasprintf("%s/made", folder);
    const char *touch[] = {"touch", made, NULL}, *sleep[] = {"sleep", "100", NULL}, *missing[] = {"/no/such", NULL};
    assert_int_equal(proc_run_aside(loop, touch, NULL, 5000), 0);
    assert_int_equal(proc_run_aside(loop, sleep, NULL, 100), 0);
    assert_int_equal(proc_run_aside(loop, missing, NULL, 100), -1);
    loop_free(loop); /* waits for both, and for the second not for long */
    assert_int_equal(access(made, F_OK), 0);
    assert_int_equal(file_remove_tree(folder, &err), 0);
    loop = loop_new(clock_system());
}

static void on_tty_exit(void *data, int status, int signum)
{
    struct child *child = data;
    child->status = status;
    child->signum = signum;
}

static void test_terminal(void **state)
{
    (void)state;
    struct child child;
    const char *argv[] = {"sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size && read x && echo got:$x", NULL};
    child_init(&child);
    struct proc_options options = {
        .argv = argv, .tty = true, .on_stdout = on_stdout, .on_exit = on_tty_exit, .data = &child};
    child.proc = proc_start(loop, &options, NULL);
    assert_non_null(child.proc);
    proc_write(child.proc, "7\n", 2);
    loop_run(loop);
    assert_int_equal(child.status, 0);
    assert_int_equal(child.out_ends, 1);
    assert_non_null(strstr(child.out.buf, "24 80\r\n"));
    assert_non_null(strstr(child.out.buf, "got:7\r\n"));
    child_release(&child);
    /* The end of its input is what a person would type. */
    child_init(&child);
    options.argv = (const char *const[]){"cat", NULL};
    child.proc = proc_start(loop, &options, NULL);
    proc_write(child.proc, "x\n", 2);
    proc_close_stdin(child.proc);
    loop_run(loop);
    assert_int_equal(child.status, 0);
    child_release(&child);
}

/* A line of its own: what is said there is not in the streams, and its end ends who listens there, without a kill. */
static struct strbuf said = STRBUF_INIT;

static void on_control(void *data, const char *bytes, size_t len)
{
    struct child *child = data;
    strbuf_add(&said, bytes, len);
    if (strcmp(said.buf, "ready\n") == 0)
        proc_write_control(child->proc, "go\n", 3);
}

static void test_line_of_control(void **state)
{
    (void)state;
    struct child child;
    const char *argv[] = {"sh", "-c", "echo ready >&3; read x <&3; echo out; echo $x >&3", NULL};
    start_options(&child, (struct proc_options){.argv = argv, .on_control = on_control});
    loop_run(loop);
    assert_string_equal(said.buf, "ready\ngo\n");
    assert_string_equal(child.out.buf, "out\n");
    assert_int_equal(child.exits, 1);
    child_release(&child);
    strbuf_release(&said);
    /* Freed: it has the time to leave something behind. */
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-proc-", &err);
    CLEANUP(free) char *script = xasprintf("echo on; read x <&3; sleep 0.1; echo cleaned > %s/mark", folder);
    argv[2] = script;
    start_options(&child, (struct proc_options){.argv = argv, .on_control = on_control});
    child.free_on_output = true;
    loop_run(loop);
    loop_free(loop); /* waits for it */
    loop = loop_new(clock_system());
    CLEANUP(free) char *mark = xasprintf("%s/mark", folder);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_read(mark, &text, 0, &err), 0);
    assert_string_equal(text.buf, "cleaned\n");
    child_release(&child);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

static void test_what_it_joins(void **state)
{
    (void)state;
    int ends[2];
    char bytes[8] = "";
    assert_int_equal(pipe(ends), 0);
    const int join[] = {ends[1], -1};
    const char *argv[] = {"true", NULL};
    struct child child;
    start_options(&child, (struct proc_options){.argv = argv, .join = join});
    loop_run(loop);
    assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 1);
    assert_int_equal(bytes[0], '0');
    child_release(&child);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_streams_and_exit_code, begin, end),
        cmocka_unit_test_setup_teardown(test_death_by_signal, begin, end),
        cmocka_unit_test_setup_teardown(test_stdin, begin, end),
        cmocka_unit_test_setup_teardown(test_a_child_that_does_not_read, begin, end),
        cmocka_unit_test_setup_teardown(test_no_stdin_is_empty, begin, end),
        cmocka_unit_test_setup_teardown(test_streams_can_be_opened_by_name, begin, end),
        cmocka_unit_test_setup_teardown(test_without_streams, begin, end),
        cmocka_unit_test_setup_teardown(test_environment_folder_and_path, begin, end),
        cmocka_unit_test_setup_teardown(test_failures_name_the_cause, begin, end),
        cmocka_unit_test_setup_teardown(test_kill_reaches_grandchildren, begin, end),
        cmocka_unit_test_setup_teardown(test_free_reaches_grandchildren, begin, end),
        cmocka_unit_test_setup_teardown(test_free_without_running_the_loop, begin, end),
        cmocka_unit_test_setup_teardown(test_what_a_child_leaves_behind_dies, begin, end),
        cmocka_unit_test_setup_teardown(test_a_runaway_does_not_hold_the_streams, begin, end),
        cmocka_unit_test_setup_teardown(test_free_from_callbacks, begin, end),
        cmocka_unit_test_setup_teardown(test_many_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_in_virtual_time, begin, end),
        cmocka_unit_test_setup_teardown(test_pause, begin, end),
        cmocka_unit_test_setup_teardown(test_no_descriptor_is_inherited, begin, end),
        cmocka_unit_test_setup_teardown(test_a_child_dies_with_us, begin, end),
        cmocka_unit_test_setup_teardown(test_aside, begin, end),
        cmocka_unit_test_setup_teardown(test_terminal, begin, end),
        cmocka_unit_test_setup_teardown(test_line_of_control, begin, end),
        cmocka_unit_test_setup_teardown(test_what_it_joins, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
