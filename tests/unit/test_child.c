/* Children: how they begin and end, groups, and that nothing outlives its parent. Their streams are in
 * test_child_streams.c. */

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "support/child_rig.h"
#include "support/test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Dead, or a zombie that its new parent has not reaped yet. */
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

TEST_WITH(death_by_signal, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "kill -TERM $$", false);
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, -1);
    assert_int_equal(child.signum, SIGTERM);
    child_kill(child.child, SIGKILL); /* too late, and harmless */
    seen_release(&child);
}

TEST_WITH(environment_folder_and_path, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-child-", &err);
    CLEANUP(free) char *program = xasprintf("%s/keyturn-test-program", folder);
    static const char script[] = "#!/bin/sh\nIFS= read -r x </dev/null\necho \"$0 $1 $COLOR $HOME $(pwd -P)\"\n";
    assert_int_equal(file_replace(program, script, sizeof(script) - 1, 0755, &err), 0);
    CLEANUP(free) char *blind = xasprintf("%s/blind", folder);
    CLEANUP(free) char *decoy = xasprintf("%s/blind/keyturn-test-program", folder);
    assert_int_equal(file_mkdirs(decoy, 0755, &err), 0); /* a folder of that name is not a program */
    CLEANUP(free) char *path = xasprintf("PATH=/nowhere::%s:%s:/usr/bin:/bin", blind, folder);
    CLEANUP(free) char *real = realpath(folder, NULL);
    const char *argv[] = {"keyturn-test-program", "a b", NULL};
    const char *env[] = {"COLOR=blue", path, NULL};
    struct seen_child child;
    seen_start(&child, loop, (struct process_spec){.argv = argv, .env = env, .cwd = folder});
    loop_run(loop);
    CLEANUP(free) char *want = xasprintf("%s a b blue  %s\n", program, real);
    assert_string_equal(child.out.buf, want);
    seen_release(&child);

    /* Not in our PATH; and a relative entry in PATH must not run a file of the folder. */
    struct process_spec options = {.argv = argv, .cwd = folder};
    assert_null(child_start(loop, &options, &seen_ops, NULL, &err));
    assert_string_equal(err.text, "cannot start keyturn-test-program: it is not in PATH");
    assert_int_equal(err.code, ENOENT);
    const char *dot[] = {"PATH=.:", NULL};
    options.env = dot;
    assert_null(child_start(loop, &options, &seen_ops, NULL, &err));
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

TEST_WITH(failures_name_the_cause, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct err err = ERR_INIT;
    const char *missing[] = {"/no/such/program", NULL};
    struct seen_child child = {.loop = loop, .out = STRBUF_INIT, .err = STRBUF_INIT};
    struct process_spec options = {.argv = missing, .keep_input = true};
    assert_null(child_start(loop, &options, &seen_ops, &child, &err));
    assert_string_equal(err.text, "cannot start /no/such/program: No such file or directory");
    assert_int_equal(err.code, ENOENT);
    const char *fine[] = {"sh", NULL};
    options.argv = fine;
    options.cwd = "/no/such/folder";
    assert_null(child_start(loop, &options, &seen_ops, &child, &err));
    assert_string_equal(err.text, "cannot start sh in /no/such/folder: No such file or directory");
    options.argv = (const char *const[]){"/etc/passwd", NULL};
    options.cwd = NULL;
    assert_null(child_start(loop, &options, &seen_ops, &child, &err));
    assert_int_equal(err.code, EACCES);
    loop_run(loop);
    assert_int_equal(child.exits + child.out_ends + child.err_ends, 0);
    seen_release(&child);
}

TEST_WITH(kill_reaches_grandchildren, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "sleep 100 & echo $!; wait", false);
    child.kill_on_output = SIGTERM;
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.signum, SIGTERM);
    assert_dies(number_in(&child.out));
    seen_release(&child);
}

TEST_WITH(free_reaches_grandchildren, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "trap '' TERM HUP; sleep 100 & echo $!; wait", false);
    int pid = child_pid(child.child);
    child.free_on_output = true;
    loop_run(loop);
    assert_null(child.child);
    assert_int_equal(child.exits, 0); /* no callback after the free */
    assert_int_equal(child.out_ends, 0);
    assert_dies(number_in(&child.out));
    assert_dies(pid);
    assert_int_equal(kill(pid, 0), -1); /* reaped: no zombie of ours is left */
    assert_int_equal(errno, ESRCH);
    seen_release(&child);
}

TEST_WITH(free_without_running_the_loop, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "sleep 100", true);
    int pid = child_pid(child.child);
    child_write(child.child, "x", 1);
    seen_free(&child);
    loop_free(loop); /* waits for the child it has just killed */
    *state = NULL;
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(child.exits, 0);
    seen_release(&child);
}

TEST_WITH(leftover_grandchildren_are_killed, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "sleep 100 & echo $!; exit 5", false);
    loop_run(loop); /* and the pipe it holds does not delay the exit */
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 5);
    assert_dies(number_in(&child.out));
    seen_release(&child);
}

TEST_WITH(grandchild_outside_the_group_does_not_hold_the_streams, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    /* Out of the group, with the pipes still open. */
    seen_shell(&child, loop, "setsid sleep 100 & echo $!; sleep 0.1; echo last; exit 0", false);
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_int_equal(child.status, 0);
    assert_non_null(strstr(child.out.buf, "last\n"));
    int pid = number_in(&child.out);
    assert_false(is_dead(pid)); /* else this tested nothing */
    kill(pid, SIGKILL);
    seen_release(&child);
}

TEST_WITH(free_from_callbacks, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct seen_child child;
    seen_shell(&child, loop, "echo x; exit 1", false);
    child.free_on_exit = true;
    loop_run(loop);
    assert_int_equal(child.exits, 1);
    assert_null(child.child);
    seen_release(&child);
    child_free(NULL);
}

TEST_WITH(many_at_once, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    enum { COUNT = 12 };
    struct seen_child children[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char script[64];
        snprintf(script, sizeof(script), "echo %d; exit %d", i, i);
        seen_shell(&children[i], loop, script, i % 2);
    }
    loop_run(loop);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(number_in(&children[i].out), i);
        assert_int_equal(children[i].status, i);
        assert_int_equal(children[i].exits, 1);
        seen_release(&children[i]);
    }
}

TEST_WITH(in_virtual_time, child_rig_set_up, child_rig_tear_down)
{
    struct fake_clock fake;
    fake_clock_init(&fake);
    struct loop *loop = loop_new(&fake.base);
    struct seen_child child;
    seen_shell(&child, loop, "echo hello", false);
    loop_run(loop);
    assert_string_equal(child.out.buf, "hello\n");
    assert_int_equal(child.exits, 1);
    seen_release(&child);
    loop_free(loop);
}

TEST_WITH(no_descriptor_is_inherited, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    int careless = dup(STDERR_FILENO); /* without O_CLOEXEC */
    assert_true(careless > 2);
    struct seen_child child;
    seen_shell(&child, loop, "ls /proc/self/fd | wc -l", false);
    loop_run(loop);
    assert_int_equal(number_in(&child.out), 4); /* three, and the folder that ls reads */
    close(careless);
    seen_release(&child);
}

TEST_WITH(a_child_dies_with_us, child_rig_set_up, child_rig_tear_down)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct loop *own = loop_new(clock_system());
        const char *argv[] = {"sleep", "100", NULL};
        struct process_spec options = {.argv = argv};
        struct child *child = child_start(own, &options, &(struct child_ops){0}, NULL, NULL);
        int pid = child ? child_pid(child) : 0;
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

TEST_WITH(a_child_can_run_aside_without_callbacks, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-child-", &err);
    CLEANUP(free) char *made = xasprintf("%s/made", folder);
    const char *touch[] = {"touch", made, NULL}, *sleep[] = {"sleep", "100", NULL}, *missing[] = {"/no/such", NULL};
    assert_int_equal(child_run_aside(loop, touch, NULL, 5000), 0);
    assert_int_equal(child_run_aside(loop, sleep, NULL, 100), 0);
    assert_int_equal(child_run_aside(loop, missing, NULL, 100), -1);
    loop_free(loop); /* waits for both, and for the second not for long */
    *state = NULL;
    assert_int_equal(access(made, F_OK), 0);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

TEST_WITH(a_child_joins_its_control_group, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    int ends[2];
    char bytes[8] = "";
    assert_int_equal(pipe(ends), 0);
    const int join[] = {ends[1], -1};
    const char *argv[] = {"true", NULL};
    struct seen_child child;
    seen_start(&child, loop, (struct process_spec){.argv = argv, .join = join});
    loop_run(loop);
    assert_int_equal(read(ends[0], bytes, sizeof(bytes)), 1);
    assert_int_equal(bytes[0], '0');
    seen_release(&child);
    close(ends[0]);
    close(ends[1]);
}

TEST_WITH(descriptors_handed_over, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "given\n", 6), 6);
    close(ends[1]);
    int one = memfd_create("one", MFD_CLOEXEC), two = memfd_create("two", MFD_CLOEXEC);
    assert_int_equal(pwrite(one, "one\n", 4, 0), 4);
    assert_int_equal(pwrite(two, "two\n", 4, 0), 4);
    const int handed[] = {ends[0], 0, one, two, -1};
    const char *argv[] = {"sh", "-c", "cat <&4; cat <&6; cat <&7", NULL};
    struct seen_child child;
    seen_start(&child, loop, (struct process_spec){.argv = argv, .hand_over = handed});
    loop_run(loop);
    assert_string_equal(child.out.buf, "given\none\ntwo\n");
    close(one);
    close(two);
    seen_release(&child);
    close(ends[0]);
}

/* A key in the keyring of this session, and whether a child finds it. */
TEST_WITH(a_child_has_its_own_keyring, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    const char *argv[] = {"python3", "-c",
                          "import ctypes\n"
                          "libc = ctypes.CDLL(None)\n"
                          "print(libc.syscall(250, 10, -3, b'user', b'keyturn-test', 0) > 0)\n",
                          NULL};
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
        skip(); /* a kernel without keys, or a container that may not use them */
    assert_true(syscall(SYS_add_key, "user", "keyturn-test", "secret", 6, KEY_SPEC_SESSION_KEYRING) > 0);
    for (int keep = 0; keep < 2; keep++) {
        struct seen_child child;
        seen_start(&child, loop, (struct process_spec){.argv = argv, .keep_keyring = keep});
        loop_run(loop);
        assert_string_equal(child.out.buf, keep ? "True\n" : "False\n");
        seen_release(&child);
    }
}

static int came = -1;

static void take_socket(void *data, int fd)
{
    (void)data;
    came = fd;
}

static void ignore_control(void *data, const char *bytes, size_t len)
{
    (void)data, (void)bytes, (void)len;
}

TEST_WITH(a_socket_over_the_control_line, child_rig_set_up, child_rig_tear_down)
{
    struct loop *loop = *state;
    const char *argv[] = {"python3", "-c",
                          "import array, socket\n"
                          "s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
                          "line = socket.socket(fileno=3)\n"
                          "line.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,\n"
                          "              array.array('i', [s.fileno()]))])\n"
                          "print(s.getsockname()[1])\n",
                          NULL};
    struct seen_child child;
    struct sockaddr_in address;
    socklen_t len = sizeof(address);
    seen_start_line(&child, loop, &(struct process_spec){.argv = argv}, ignore_control, take_socket);
    loop_run(loop);
    assert_true(came >= 0);
    assert_int_equal(getsockname(came, (struct sockaddr *)&address, &len), 0);
    assert_int_equal(ntohs(address.sin_port), number_in(&child.out));
    close(came);
    seen_release(&child);
}
