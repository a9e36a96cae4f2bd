/* Tests programs in a real sandbox: their environment, how they end, and that nothing of them is left. promises.def has
 * what they cannot reach, test_network.c their network. Bubblewrap without an argument; "podman IMAGE" for the other
 * one. */

#include "base/file.h"
#include "base/mem.h"
#include "sandbox/user.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/workspace.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct program_rig rig;
static struct programs_options options;
static const char *engine = "bwrap";
static char *outside; /* a folder beside the workspace */

static void open_with(const char *name)
{
    struct programs_options own = options;
    own.host_env = true; /* without an engine, the whole machine is visible */
    if (strcmp(name, "none") == 0)
        own.image = NULL;
    program_rig_open(&rig, name, &own);
}

static void sh(const char *command, struct program_limits limits)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *pid = xasprintf("%d", (int)getpid());
    struct env_var vars[] = {{"OUTSIDE", outside}, {"HOST_PID", pid}};
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", command, NULL},
                                .env = {vars, COUNT_OF(vars)},
                                .limits = limits,
                                .timeout_ms = 60000};
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
}

TEST(the_system_is_read_only)
{
    open_with(engine);
    sh("for f in /x /usr/x /etc/x /bin/x /run/x; do (echo x > $f) 2>/dev/null && echo wrote $f; done; "
       "echo y > $WORK_DIR/y && echo z > /tmp/z && echo fine; echo $HOME $WORKSPACE_DIR; ls /home /root 2>/dev/null",
       (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "fine\n/workspace /workspace\n");
    program_rig_close(&rig);
}

static bool all_gone(void *user)
{
    return program_rig_count(user) == 0;
}

static void drop_bomb(unsigned pids)
{
    struct err err = ERR_INIT;
    open_with(engine);
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", "b() { b | b & }; b; sleep 98771.$MARK", NULL},
                                .limits = {.pids = pids},
                                .timeout_ms = 3000};
    assert_true(program_rig_run(&rig, &spec, &err));
    assert_int_equal(rig.result.end.survivors, 0);
    if (rig.result.end.signum && !rig.result.end.timed_out) /* only keyturn-launch counts here */
        assert_non_null(strstr(rig.result.why, "it was killed: it made more than "));
    program_rig_await(&rig, all_gone, (void *)(uintptr_t) "sleep 98771");
    sh("echo sane", (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "sane\n");
    program_rig_close(&rig);
}

TEST(a_fork_bomb_is_limited_and_killed)
{
    drop_bomb(40);
    drop_bomb(0);
}

TEST(no_process_outlives_the_program)
{
    open_with(engine);
    sh("setsid sleep 98772.$MARK & (setsid sleep 98772.$MARK &); sleep 0.3", (struct program_limits){0});
    program_rig_await(&rig, all_gone, (void *)(uintptr_t) "sleep 98772");
    if (strcmp(engine, "docker") !=
        0) /* the engine forwards no line of the launcher, so the leftovers are not reported */
        assert_true(rig.result.end.left_count >= 2);
    /* The same when its time is over. */
    struct err err = ERR_INIT;
    struct program_spec spec = {
        .cmd = "sh",
        .args = (const char *const[]){"-c", "trap '' TERM; setsid sleep 98773.$MARK & setsid sleep 98773.$MARK", NULL},
        .timeout_ms = 2000};
    assert_true(program_rig_run(&rig, &spec, &err));
    assert_true(rig.result.end.timed_out);
    program_rig_await(&rig, all_gone, (void *)(uintptr_t) "sleep 98773");
    program_rig_close(&rig);
}

/* Folders created for the program belong to it, whatever user created them. */
TEST(programs_can_write_their_workspace)
{
    struct err err = ERR_INIT;
    open_with(engine);
    struct program_spec spec = {
        .cmd = "sh",
        .cwd = "work/new/deep",
        .args = (const char *const[]){"-c", "touch one && mkdir ../two && touch $RUN_DIR/three && echo made", NULL},
        .timeout_ms = 60000};
    assert_true(program_rig_run(&rig, &spec, &err));
    assert_string_equal(rig.result.out.buf, "made\n");
    program_rig_close(&rig);
}

/* A program cannot change or hide what is mounted in its folder. */
TEST(bound_folders_stay_as_they_are)
{
    open_with(engine);
    rig.ws->lends = true;
    CLEANUP(free) char *place = xasprintf("%s/skills/s", rig.ws->path);
    assert_int_equal(mkdir(place, 0755), 0);
    assert_true(workspace_bind(rig.ws, outside, "skills/s"));
    if (strcmp(engine, "bwrap") != 0)
        assert_int_equal(chmod(outside, 0755),
                         0); /* containers of root belong to another user, and root's permissions do not apply */
    for (int i = 0; i < 2; i++) {
        sh("cat skills/s/secret; chmod u+w skills/s skills/s/secret; echo x > skills/s/secret; rm skills/s/secret; "
           "touch skills/s/new; cat skills/s/secret skills/s/new; echo",
           (struct program_limits){0});
        assert_string_equal(rig.result.out.buf, "openopen\n");
        assert_int_equal(rig.result.end.exit_code, 0);
    }
    sh("mv skills away; ln -s away skills", (struct program_limits){0});
    sh("ls skills/s; echo nothing", (struct program_limits){0}); /* not through a link */
    assert_string_equal(rig.result.out.buf, "nothing\n");
    program_rig_close(&rig);
}

TEST(programs_run_on_a_terminal)
{
    struct err err = ERR_INIT;
    open_with(engine);
    struct program_spec spec = {.cmd = "sh",
                                .args = (const char *const[]){"-c", "tty -s && echo x; exit 7", NULL},
                                .keep_input = true,
                                .tty = true,
                                .timeout_ms = 60000};
    assert_true(program_rig_run(&rig, &spec, &err));
    assert_string_equal(rig.result.out.buf, "x\r\n");
    assert_int_equal(rig.result.end.exit_code, 7);
    assert_int_equal(rig.result.end.signum, 0);
    program_rig_close(&rig);
}

/* The same in every engine, and the engine's own output is never the program's. */
TEST(exit_codes_and_signals_are_reported)
{
    open_with(engine);
    sh("echo mine >&2; kill -KILL $$", (struct program_limits){0});
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(rig.result.end.signum, SIGKILL);
    assert_string_equal(rig.result.err.buf, "mine\n");
    sh("exit 137", (struct program_limits){0});
    assert_int_equal(rig.result.end.exit_code, 137);
    assert_int_equal(rig.result.end.signum, 0);
    sh("setsid sleep 60 & sleep 0.3", (struct program_limits){0});
    assert_int_equal(rig.result.end.left_count, 1);
    assert_string_equal(rig.result.left[0].name, "sleep");
    assert_int_equal(access("oom", F_OK), -1); /* the engine leaves its files elsewhere */
    program_rig_close(&rig);
}

/* A program cannot keep us out by removing permissions. Root gets in anyway, so the test proves more as another user.
 */
TEST(folders_closed_by_a_program_block_nothing)
{
    open_with(engine);
    rig.ws->policy.max_disk_bytes = 8 << 20;
    sh("mkdir work/h && head -c 9000 /dev/zero > work/h/f && chmod 000 work/h work out runs . && echo shut",
       (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "shut\n");
    assert_null(rig.result.end.why);
    sh("chmod 000 work/h; chmod 000 work; sleep 1; echo here", (struct program_limits){0});
    assert_string_equal(rig.result.out.buf, "here\n");
    assert_null(rig.result.end.why);
    sh("chmod 000 work/h; i=0; while :; do head -c 1000000 /dev/zero > out/$i; i=$((i+1)); done",
       (struct program_limits){0});
    assert_true(rig.result.end.over_limit);
    program_rig_close(&rig);
}

/* Memory shared by several processes counts once, in every way of counting. */
static void expect_fine(const char *python)
{
    open_with(engine);
    CLEANUP(free) char *command = xasprintf("cat > t.py <<'END'\n%s\nEND\npython3 t.py", python);
    sh(command, (struct program_limits){.memory_mb = 128});
    if (rig.result.end.why || strcmp(rig.result.out.buf, "fine\n") != 0)
        fail_msg("%s: %s%s", rig.result.end.why ? rig.result.end.why : "no reason", rig.result.out.buf,
                 rig.result.err.buf);
    program_rig_close(&rig);
}

#define HOLD(mb) "held = bytearray(" #mb " << 20)\nfor at in range(0, len(held), 4096): held[at] = 1\n"

/* The pipe keeps the child in its parent's memory: the child opens it before exec. */
TEST(a_child_of_vfork_counts_once)
{
    expect_fine(
        "import os, subprocess\n" HOLD(80) "os.mkfifo('/tmp/pipe')\n"
                                           "subprocess.Popen(['sh', '-c', 'sleep 1; : > /tmp/pipe'])\n"
                                           "child = os.posix_spawn('/usr/bin/true', ['true'], {}, "
                                           "file_actions=[(os.POSIX_SPAWN_OPEN, 0, '/tmp/pipe', os.O_RDONLY, 0)])\n"
                                           "os.waitpid(child, 0)\n"
                                           "for _ in range(300): subprocess.run(['/usr/bin/true'])\n"
                                           "print('fine')");
}

/* Many short processes, each with little memory. The shell would report a stopped child. */
TEST(many_short_processes_stay_below_the_memory_limit)
{
    expect_fine("import os, subprocess, signal, time\n" HOLD(
        60) "children = []\n"
            "for _ in range(3):\n"
            "    children.append(os.fork())\n"
            "    if not children[-1]: time.sleep(60)\n"
            "shell = subprocess.run(['bash', '-c', 'set -m; end=$((SECONDS + 3)); "
            "while [ $SECONDS -lt $end ]; do /usr/bin/true; done'], capture_output=True)\n"
            "for child in children: os.kill(child, signal.SIGKILL)\n"
            "print((shell.stdout + shell.stderr).decode() or 'fine')");
}

/* A file in /tmp counts as memory, and only once if it is mapped. */
TEST(a_mapped_file_counts_once)
{
    expect_fine("import mmap, time\n" HOLD(25) "with open('/tmp/mapped', 'wb+') as file:\n"
                                               "    file.truncate(60 << 20)\n"
                                               "    seen = mmap.mmap(file.fileno(), 60 << 20)\n"
                                               "for at in range(0, len(seen), 4096): seen[at] = 1\n"
                                               "time.sleep(1)\n"
                                               "print('fine')");
}

#define NEIGHBORS 40

/* Tasks of other programs of the same user do not count, in another container or in none. */
TEST(each_program_has_its_own_limit_of_processes)
{
    pid_t others[NEIGHBORS];
    const struct sandbox_user *user = sandbox_user();
    for (size_t i = 0; i < NEIGHBORS; i++) {
        others[i] = fork();
        if (others[i] == 0) {
            if (user && setuid(user->uid))
                _exit(1);
            for (;;)
                pause();
        }
    }
    open_with(engine);
    sh("for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait; echo fine", (struct program_limits){.pids = 30});
    for (size_t i = 0; i < NEIGHBORS; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    assert_string_equal(rig.result.err.buf, "");
    assert_string_equal(rig.result.out.buf, "fine\n");
    program_rig_close(&rig);
}

static int prepare(void **state)
{
    (void)state;
    outside = file_make_temp_dir(NULL, "keyturn-outside-", NULL);
    CLEANUP(free) char *secret = xasprintf("%s/secret", outside);
    setenv("KEYTURN_TEST_SECRET", "open", 1);
    return file_replace(secret, "open", 4, 0644, NULL);
}

static int clean(void **state)
{
    (void)state;
    int failed = file_remove_tree(outside, NULL);
    free(outside);
    return failed;
}

void test_begin(void)
{
    if (test_program_arguments[0] && test_program_arguments[1]) {
        engine = test_program_arguments[0];
        options.image = test_program_arguments[1];
    }
}

TEST_GROUP(prepare, clean)
