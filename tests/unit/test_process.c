/* Tests of processes: deadlines, ending and killing, the reports of keyturn-launch, failing engines, leftovers, stop
 * commands and the user's terminal. Tests of descriptors and streams are in test_child*.c. */

#include "base/file.h"
#include "base/launcher.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/strbuf.h"
#include "support/test.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* One process and what it reported. */
static struct {
    struct loop *loop;
    struct process *process;
    struct strbuf out, err, engine, why;
    struct process_end end;
    struct left_process left[PROCESS_LEFT_MAX];
    int starts, ends, out_ends;
    void (*heard)(void);
    char *launcher;
} it;

static int set_up(void **state)
{
    (void)state;
    memset(&it, 0, sizeof(it));
    it.loop = loop_new(clock_system());
    it.launcher = launcher_path();
    strbuf_init(&it.out);
    strbuf_init(&it.err);
    strbuf_init(&it.engine);
    strbuf_init(&it.why);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    process_free(it.process);
    loop_free(it.loop);
    strbuf_release(&it.out);
    strbuf_release(&it.err);
    strbuf_release(&it.engine);
    strbuf_release(&it.why);
    free(it.launcher);
    return 0;
}

static void on_started(void *user)
{
    assert_ptr_equal(user, &it);
    it.starts++;
}

static void on_output(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    assert_ptr_equal(user, &it);
    assert_int_equal(it.ends, 0);
    strbuf_add(stream == PROCESS_STDOUT ? &it.out : stream == PROCESS_STDERR ? &it.err : &it.engine, bytes, len);
    it.out_ends += stream == PROCESS_STDOUT && !len;
    if (it.heard)
        it.heard();
}

static void on_ended(void *user, const struct process_end *end)
{
    assert_ptr_equal(user, &it);
    it.ends++;
    it.end = *end;
    memcpy(it.left, end->left, end->left_count * sizeof(*end->left));
    strbuf_addstr(&it.why, end->why ? end->why : "");
    strbuf_addstr(&it.engine, end->engine_said);
    process_free(it.process);
    it.process = NULL;
}

static const struct process_ops ops = {on_started, on_output, on_ended};

static void start(const struct process_spec *spec)
{
    struct err err = ERR_INIT;
    it.ends = it.starts = it.out_ends = 0;
    strbuf_reset(&it.out);
    strbuf_reset(&it.err);
    strbuf_reset(&it.engine);
    strbuf_reset(&it.why);
    it.process = process_start(it.loop, spec, &ops, &it, &err);
    if (!it.process)
        fail_msg("%s", err.text);
}

static void run(const struct process_spec *spec)
{
    start(spec);
    loop_run(it.loop);
    assert_int_equal(it.ends, 1);
}

/* For an engine and, after the prefix, for the program in it. */
static const char *const engine_env[] = {"PATH=/usr/bin:/bin", LAUNCH_PREFIX "PATH=/usr/bin:/bin", NULL};

/* A shell as an engine: it prints something, then becomes keyturn-launch. */
static char *engine_command(const char *before, const char *options, const char *program)
{
    return xasprintf("%s; exec '%s' --mark %s --cwd / -- sh -c '%s'", before, it.launcher, options, program);
}

static bool is_gone(int pid)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/stat", pid);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    const char *after = file_read(path, &text, 0, NULL) ? NULL : strrchr(text.buf, ')');
    return !after || after[2] == 'Z' || after[2] == 'X';
}

static void assert_goes(int pid)
{
    assert_true(pid > 1);
    for (int i = 0; i < 5000 && !is_gone(pid); i++)
        usleep(1000);
    assert_true(is_gone(pid));
}

static int descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* ---- direct ---- */

TEST_WITH(a_command_returns_its_output_and_exit_code, set_up, tear_down)
{
    run(&(struct process_spec){
        .argv = ARGV("sh", "-c", "cat; echo bad >&2; exit 3"), .input = "typed\n", .input_len = 6});
    assert_string_equal(it.out.buf, "typed\n");
    assert_string_equal(it.err.buf, "bad\n");
    assert_int_equal(it.out_ends, 1);
    assert_int_equal(it.end.exit_code, 3);
    assert_true(it.end.started);
    assert_false(it.end.timed_out || it.end.asked || it.end.forced || it.end.lost);
    run(&(struct process_spec){.argv = ARGV("sh", "-c", "kill -TERM $$")});
    assert_int_equal(it.end.exit_code, -1);
    assert_int_equal(it.end.signum, SIGTERM);
    struct err err = ERR_INIT;
    assert_null(process_start(it.loop, &(struct process_spec){.argv = ARGV("/no/such")}, &ops, &it, &err));
    assert_string_equal(err.text, "cannot start /no/such: No such file or directory");
}

TEST_WITH(a_timeout_kills, set_up, tear_down)
{
    run(&(struct process_spec){.argv = ARGV("sh", "-c", "trap '' TERM; sleep 100"), .timeout_ms = 30});
    assert_true(it.end.timed_out && it.end.forced && !it.end.asked);
    assert_int_equal(it.end.signum, SIGKILL);
    assert_true(it.end.duration_ms >= 30);
}

static void kill_gently(void)
{
    process_kill(it.process, 20);
    process_kill(it.process, 20); /* again: nothing */
}

static void kill_patiently(void)
{
    process_kill(it.process, 60000);
}

static void kill_twice(void)
{
    process_kill(it.process, 100000);
    process_kill(it.process, 0);
}

TEST_WITH(sigterm_comes_before_sigkill, set_up, tear_down)
{
    static const char *const polite[] = {"sh", "-c", "trap 'exit 5' TERM; echo x; while :; do sleep 0.01; done", NULL};
    static const char *const deaf[] = {"sh", "-c", "trap '' TERM; echo x; while :; do sleep 0.01; done", NULL};
    it.heard = kill_gently;
    run(&(struct process_spec){.argv = deaf});
    assert_true(it.end.asked && it.end.forced && !it.end.timed_out);
    assert_int_equal(it.end.signum, SIGKILL);
    it.heard = kill_twice;
    run(&(struct process_spec){.argv = deaf});
    assert_true(it.end.asked && it.end.forced);
    it.heard = kill_patiently;
    for (int launched = 0; launched < 2; launched++) {
        start(&(struct process_spec){.argv = polite,
                                     .env = ARGV("PATH=/usr/bin:/bin"),
                                     .cwd = "/",
                                     .launcher = launched ? PROCESS_LAUNCHED : PROCESS_DIRECT});
        loop_run(it.loop);
        assert_true(it.end.asked && !it.end.forced);
        assert_int_equal(it.end.exit_code, 5);
    }
}

static void free_it(void)
{
    process_free(it.process);
    it.process = NULL;
}

TEST_WITH(freeing_from_callbacks, set_up, tear_down)
{
    it.heard = free_it;
    CLEANUP(free) char *engine = engine_command("echo engine >&2", "--control", "echo x >&2; sleep 100");
    CLEANUP(free) char *marked = engine_command("echo engine >&2", "", "echo x >&2; sleep 1");
    const struct process_spec specs[] = {
        {.argv = ARGV("sh", "-c", "echo x; sleep 100")},
        {.argv = ARGV("sh", "-c", engine), .env = engine_env, .launcher = PROCESS_IN_ENGINE},
        {.argv = ARGV("sh", "-c", marked), .env = engine_env, .launcher = PROCESS_IN_ENGINE_DEAF},
        {.argv = ARGV("sh", "-c", "echo x; sleep 100"), .open = PROCESS_PTY},
    };
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        start(&specs[i]);
        loop_run(it.loop);
        assert_null(it.process);
        assert_int_equal(it.ends, 0);
    }
    process_free(NULL);
}

TEST_WITH(no_descriptor_stays, set_up, tear_down)
{
    int before = 0;
    for (int i = 0; i < 6; i++) {
        run(&(struct process_spec){.argv = ARGV("true"), .keep_input = true});
        run(&(struct process_spec){.argv = ARGV("true"), .open = PROCESS_PTY});
        run(&(struct process_spec){
            .argv = ARGV("true"), .env = ARGV("PATH=/bin"), .cwd = "/", .launcher = PROCESS_LAUNCHED});
        start(&(struct process_spec){.argv = ARGV("sleep", "100"), .keep_input = true});
        free_it();
        loop_run(it.loop);
        if (i == 0)
            before = descriptors();
    }
    assert_int_equal(descriptors(), before);
}

TEST_WITH(a_terminal_of_its_own, set_up, tear_down)
{
    run(&(struct process_spec){.argv = ARGV("sh", "-c", "test -t 0 && test -t 2 && echo on a terminal; exit 4"),
                               .open = PROCESS_PTY,
                               .keep_input = true});
    assert_string_equal(it.out.buf, "on a terminal\r\n");
    assert_int_equal(it.end.exit_code, 4);
}

/* ---- run by keyturn-launch ---- */

TEST_WITH(nothing_outlives_a_launched_process, set_up, tear_down)
{
    struct process_spec spec = {.argv = ARGV("sh", "-c", "setsid sleep 100 >/dev/null 2>&1 & echo $!; exit 2"),
                                .env = ARGV("PATH=/usr/bin:/bin"),
                                .cwd = "/tmp",
                                .launcher = PROCESS_LAUNCHED};
    run(&spec);
    assert_int_equal(it.starts, 1);
    assert_int_equal(it.end.exit_code, 2);
    assert_int_equal(it.end.left_count, 1);
    assert_true(it.left[0].pid > 1);
    assert_goes((int)strtol(it.out.buf, NULL, 10));
    spec.argv = ARGV("sh", "-c", "setsid sleep 100 >/dev/null 2>&1 & echo $!; sleep 100");
    it.heard = free_it;
    start(&spec);
    loop_run(it.loop);
    assert_goes((int)strtol(it.out.buf, NULL, 10));
}

TEST_WITH(a_launched_process_that_does_not_start, set_up, tear_down)
{
    struct process_spec spec = {
        .argv = ARGV("no-such-program"), .env = ARGV("PATH=/bin"), .cwd = "/", .launcher = PROCESS_LAUNCHED};
    run(&spec);
    assert_int_equal(it.starts, 0);
    assert_int_equal(it.end.error, ENOENT);
    assert_int_equal(it.end.exit_code, -1);
    assert_false(it.end.started);
    spec.argv = ARGV("sh", "-c", "echo $MINE $HOME");
    spec.env = ARGV("PATH=/bin", "MINE=yes");
    run(&spec);
    assert_string_equal(it.out.buf, "yes\n");
}

/* ---- in an engine ---- */

TEST_WITH(engine_output_is_kept_apart, set_up, tear_down)
{
    for (int deaf = 0; deaf < 2; deaf++) {
        CLEANUP(free)
        char *command = engine_command("echo careful >&2", deaf ? "" : "--control", "echo out; echo err >&2; exit 7");
        run(&(struct process_spec){.argv = ARGV("sh", "-c", command),
                                   .env = engine_env,
                                   .launcher = deaf ? PROCESS_IN_ENGINE_DEAF : PROCESS_IN_ENGINE});
        assert_int_equal(it.starts, 1);
        assert_string_equal(it.engine.buf, "careful\n");
        assert_string_equal(it.out.buf, "out\n");
        assert_string_equal(it.err.buf, "err\n");
        assert_int_equal(it.end.exit_code, 7);
        assert_true(it.end.started && !it.end.lost);
        assert_int_equal(it.out_ends, 0);
    }
}

TEST_WITH(an_engine_that_fails, set_up, tear_down)
{
    for (int deaf = 0; deaf < 2; deaf++) {
        run(&(struct process_spec){.argv = ARGV("sh", "-c", "echo no image >&2; exit 125"),
                                   .env = engine_env,
                                   .launcher = deaf ? PROCESS_IN_ENGINE_DEAF : PROCESS_IN_ENGINE});
        assert_true(it.end.lost && it.end.engine_failed && !it.end.started);
        assert_int_equal(it.end.status, 125);
        assert_int_equal(it.end.exit_code, -1);
        assert_string_equal(it.engine.buf, "no image\n");
        assert_string_equal(it.err.buf, "");
    }
    /* It started, and then no report says how it ended. */
    CLEANUP(free)
    char *command = xasprintf("'%s' --mark --control --cwd / -- sh -c 'echo x; sleep 100' & launcher=$!; sleep 0.2; "
                              "kill -KILL $launcher; exit 9",
                              it.launcher);
    run(&(struct process_spec){.argv = ARGV("sh", "-c", command), .env = engine_env, .launcher = PROCESS_IN_ENGINE});
    assert_true(it.end.lost && !it.end.engine_failed && it.end.started);
    assert_int_equal(it.end.status, 9);
}

TEST_WITH(limits_are_blamed, set_up, tear_down)
{
    CLEANUP(free) char *command = engine_command(":", "--control --files 1", "head -c 3000000 /dev/zero > $FILE");
    CLEANUP(free) char *variable = xasprintf(LAUNCH_PREFIX "FILE=/tmp/keyturn-test-process-%d", (int)getpid());
    run(&(struct process_spec){.argv = ARGV("sh", "-c", command),
                               .env = ARGV("PATH=/usr/bin:/bin", LAUNCH_PREFIX "PATH=/usr/bin:/bin", variable),
                               .launcher = PROCESS_IN_ENGINE,
                               .limits = {.files_mb = 1}});
    unlink(strchr(variable, '/'));
    if (it.end.signum) { /* else a shell reports it by its exit code */
        assert_string_equal(it.why.buf, "it was killed: it wrote a file of more than 1 MB");
        assert_true(it.end.over_limit);
    }
    CLEANUP(free) char *signalled = engine_command(":", "--control", "kill -XCPU $$");
    run(&(struct process_spec){
        .argv = ARGV("sh", "-c", signalled), .env = engine_env, .launcher = PROCESS_IN_ENGINE, .limits = {.cpu_s = 4}});
    assert_string_equal(it.why.buf, "it was killed: it used more than 4 s of processor time");
    assert_true(it.end.over_limit);
}

/* Without a sandbox, a program that kills its launcher is found by its name. */
TEST_WITH(leftovers_without_their_launcher, set_up, tear_down)
{
    CLEANUP(free) char *name = xasprintf("test-process-%d", (int)getpid());
    CLEANUP(free) char *variable = xasprintf(LAUNCH_PREFIX LAUNCH_NAME "=%s", name);
    const char *const argv[] = {
        it.launcher, "--mark", "--control",
        "--cwd",     "/",      "--",
        "sh",        "-c",     "setsid sleep 100 >/dev/null 2>&1 & echo $!; kill -KILL $PPID; sleep 100",
        NULL};
    run(&(struct process_spec){.argv = argv,
                               .env = ARGV(LAUNCH_PREFIX "PATH=/usr/bin:/bin", variable),
                               .launcher = PROCESS_IN_ENGINE,
                               .name = name});
    assert_int_equal(it.end.signum, SIGKILL);
    assert_true(it.end.left_count >= 1);
    assert_int_equal(it.end.survivors, 0);
    assert_goes((int)strtol(it.out.buf, NULL, 10));
}

/* ---- stop commands ---- */

TEST_WITH(stop_commands, set_up, tear_down)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-process-", &err);
    static const struct {
        const char *command;
        bool freed, stops;
    } cases[] = {{"exit 1", false, false}, {"kill -KILL $$", false, true}, {"echo x; sleep 100", true, true}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(free) char *made = xasprintf("%s/%zu", folder, i);
        it.heard = cases[i].freed ? free_it : NULL;
        start(&(struct process_spec){.argv = ARGV("sh", "-c", cases[i].command),
                                     .stop_argv = ARGV("touch", made),
                                     .stop_env = ARGV("PATH=/usr/bin:/bin")});
        loop_run(it.loop);
        loop_free(it.loop); /* waits for the command */
        it.loop = loop_new(clock_system());
        assert_int_equal(access(made, F_OK) == 0, cases[i].stops);
    }
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

TEST_WITH(stop_commands_of_a_deaf_engine, set_up, tear_down)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_make_temp_dir(NULL, "keyturn-process-", &err);
    CLEANUP(free) char *pid = xasprintf("%s/pid", folder);
    CLEANUP(free) char *before = xasprintf("echo $$ > '%s'", pid);
    CLEANUP(free)
    char *command = engine_command(before, "",
                                   "trap \"echo bye; exit 6\" TERM; echo x; "
                                   "while :; do sleep 0.01; done");
    CLEANUP(free) char *ask = xasprintf("kill -TERM $(cat '%s')", pid);
    CLEANUP(free) char *stop = xasprintf("kill -KILL $(cat '%s')", pid);
    it.heard = kill_gently;
    start(&(struct process_spec){.argv = ARGV("sh", "-c", command),
                                 .env = engine_env,
                                 .launcher = PROCESS_IN_ENGINE_DEAF,
                                 .ask_argv = ARGV("sh", "-c", ask),
                                 .stop_argv = ARGV("sh", "-c", stop),
                                 .guard = true});
    loop_run(it.loop);
    assert_int_equal(it.ends, 1);
    assert_true(it.end.asked);
    assert_int_equal(file_remove_tree(folder, &err), 0);
}

/* ---- the user's terminal ---- */

TEST_WITH(on_the_users_terminal, set_up, tear_down)
{
    struct err err = ERR_INIT;
    struct process_end end;
    struct sigaction before, after;
    sigaction(SIGINT, NULL, &before);
    struct process_spec spec = {.argv = ARGV("sh", "-c", "exit 3"), .open = PROCESS_TERMINAL};
    assert_int_equal(process_run_in_terminal(&spec, &end, &err), 0);
    assert_int_equal(end.exit_code, 3);
    spec.argv = ARGV("sh", "-c", "kill -INT $$"); /* the process gets it, we do not */
    assert_int_equal(process_run_in_terminal(&spec, &end, &err), 0);
    assert_int_equal(end.signum, SIGINT);
    sigaction(SIGINT, NULL, &after);
    assert_ptr_equal(before.sa_handler, after.sa_handler);
    int careless = dup(STDERR_FILENO);
    spec.argv = ARGV("sh", "-c", "test $(ls /proc/self/fd | wc -l) = 4");
    assert_int_equal(process_run_in_terminal(&spec, &end, &err), 0);
    assert_int_equal(end.exit_code, 0);
    close(careless);
    spec.argv = ARGV("no-such-editor");
    assert_int_equal(process_run_in_terminal(&spec, &end, &err), -1);
    assert_string_equal(err.text, "cannot start no-such-editor: it is not in PATH");
}

TEST_WITH(output_on_the_users_terminal_is_read, set_up, tear_down)
{
    struct err err = ERR_INIT;
    struct process_end end;
    CLEANUP(strbuf) struct strbuf said = STRBUF_INIT;
    struct process_spec spec = {.argv = ARGV("sh", "-c", "cat; echo key; exit 3"), .open = PROCESS_TERMINAL};
    assert_int_equal(process_read_in_terminal(&spec, &said, 4096, &end, &err), 0);
    assert_string_equal(said.buf, "key\n"); /* and nothing to read */
    assert_int_equal(end.exit_code, 3);
    spec.argv = ARGV("sh", "-c", "while :; do echo too much; done"); /* ends with its reader */
    strbuf_reset(&said);
    assert_int_equal(process_read_in_terminal(&spec, &said, 1000, &end, &err), 0);
    assert_in_range(said.len, 1000, 2000);
    assert_true(end.exit_code != 0);
    spec.argv = ARGV("no-such-command");
    assert_int_equal(process_read_in_terminal(&spec, &said, 1000, &end, &err), -1);
}

/* Job control: stopping the process also stops the program that waits for it, and both continue together. */
TEST_WITH(a_suspended_process_suspends_us, set_up, tear_down)
{
    int status;
    pid_t waiting = fork();
    if (waiting == 0) {
        struct process_end end;
        struct process_spec spec = {.argv = ARGV("sh", "-c", "kill -STOP $$; exit 8"), .open = PROCESS_TERMINAL};
        setpgid(0, 0);
        _exit(process_run_in_terminal(&spec, &end, NULL) ? 1 : end.exit_code);
    }
    assert_int_equal(waitpid(waiting, &status, WUNTRACED), waiting);
    assert_true(WIFSTOPPED(status));
    kill(-waiting, SIGCONT);
    assert_int_equal(waitpid(waiting, &status, 0), waiting);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 8);
}

/* Ctrl-Z goes to the whole process group: the reader of its output is suspended too. */
TEST_WITH(a_suspended_process_suspends_its_reader, set_up, tear_down)
{
    int status;
    pid_t reading = fork();
    if (reading == 0) {
        struct process_end end;
        struct strbuf said = STRBUF_INIT;
        struct process_spec spec = {.argv = ARGV("sh", "-c", "kill -TSTP 0; echo key; exit 8"),
                                    .open = PROCESS_TERMINAL};
        setpgid(0, 0);
        bool failed = process_read_in_terminal(&spec, &said, 100, &end, NULL) || strcmp(said.buf, "key\n") != 0;
        _exit(failed ? 1 : end.exit_code);
    }
    assert_int_equal(waitpid(reading, &status, WUNTRACED), reading);
    assert_true(WIFSTOPPED(status));
    kill(-reading, SIGCONT);
    assert_int_equal(waitpid(reading, &status, 0), reading);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 8);
}
