/* Tests of programs in a workspace, without a sandbox and in bubblewrap: the same rules hold. They use real processes
 * and never depend on how long something takes; they wait until it happens. */

#include "base/beneath.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/disk_limit.h"
#include "sandbox/engines_program.h"
#include "sandbox/limits.h"
#include "support/program_rig.h"
#include "support/test.h"
#include "workspace/disk_watch.h"
#include "workspace/program_vector.h"
#include "workspace/workspace.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define VARS(...)                                             \
    ((struct env_vars){(const struct env_var[]){__VA_ARGS__}, \
                       sizeof((struct env_var[]){__VA_ARGS__}) / sizeof(struct env_var)})

static struct program_rig rig;
static const char *engine;

static int begin_bare(void **state)
{
    (void)state;
    engine = "none";
    program_rig_open(&rig, engine, NULL);
    return 0;
}

static int begin_in_bwrap(void **state)
{
    (void)state;
    engine = "bwrap";
    program_rig_open(&rig, engine, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    program_rig_close(&rig);
    return 0;
}

/* The same test without a sandbox and in bubblewrap. */
#define PROGRAM_TEST(NAME)                          \
    static void check_##NAME(void);                 \
    TEST_WITH(NAME##_bare, begin_bare, end)         \
    {                                               \
        check_##NAME();                             \
    }                                               \
    TEST_WITH(NAME##_in_bwrap, begin_in_bwrap, end) \
    {                                               \
        check_##NAME();                             \
    }                                               \
    static void check_##NAME(void)

static void run(struct program_spec spec)
{
    struct err err = ERR_INIT;
    if (!spec.timeout_ms)
        spec.timeout_ms = 60000;
    if (!program_rig_run(&rig, &spec, &err))
        fail_msg("%s", err.text);
}

PROGRAM_TEST(streams_and_codes)
{
    program_rig_sh(&rig, "echo out; echo err >&2; exit 9");
    assert_string_equal(rig.result.out.buf, "out\n");
    assert_string_equal(rig.result.err.buf, "err\n");
    assert_int_equal(rig.result.end.exit_code, 9);
    assert_false(rig.result.end.timed_out);
    assert_int_equal(rig.result.end.left_count, 0);
    program_rig_sh(&rig, "kill -SEGV $$");
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(rig.result.end.signum, SIGSEGV);
    /* A program cannot forge the launcher's report. */
    program_rig_sh(&rig, "(echo exit 3 >&3) 2>/dev/null; exit 1");
    assert_int_equal(rig.result.end.exit_code, 1);
}

PROGRAM_TEST(programs_that_cannot_start_have_a_reason)
{
    run((struct program_spec){.cmd = "no-such-program"});
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_string_equal(rig.result.end.why, "cannot start no-such-program: No such file or directory");
    run((struct program_spec){.cmd = "sh", .env = VARS({"PATH", ""})});
    assert_int_equal(rig.result.end.exit_code, -1);
    run((struct program_spec){.cmd = "/etc"});
    assert_int_equal(rig.result.end.exit_code, -1);
    struct err err = ERR_INIT;
    assert_false(program_rig_run(&rig, &(struct program_spec){.cmd = "true", .cwd = "../out"}, &err));
    assert_non_null(strstr(err.text, "path escapes workspace"));
    assert_false(program_rig_run(&rig, &(struct program_spec){.cmd = "true", .env = VARS({"A=B", "x"})}, &err));
}

PROGRAM_TEST(input_and_arguments)
{
    run((struct program_spec){.cmd = "sh",
                              .args = ARGS("-c", "cat; printf '%s|' \"$@\" \"$K\"", "sh", "a b", "{name}", "{{", ""),
                              .input = "in\n",
                              .input_len = 3,
                              .env = VARS({"K", "v\nw"})});
    assert_string_equal(rig.result.out.buf, "in\na b|{name}|{{||v\nw|");
    run((struct program_spec){.cmd = "cat"});
    assert_int_equal(rig.result.end.exit_code, 0);
}

PROGRAM_TEST(folders_and_variables)
{
    run((struct program_spec){
        .cmd = "sh",
        .cwd = "work/new/dir",
        .args = ARGS("-c", "pwd; echo $WORKSPACE_DIR/work/new/dir; echo x > $OUTPUT_DIR/f; cd $RUN_DIR && "
                           "pwd; test -d $SKILLS_DIR && test -d $WORK_DIR && echo both")});
    const char *root = programs_root(rig.programs, rig.ws->path);
    CLEANUP(free) char *want = xasprintf("%s/work/new/dir\n%s/work/new/dir\n%s/runs/run_", root, root, root);
    assert_int_equal(strncmp(rig.result.out.buf, want, strlen(want)), 0);
    assert_non_null(strstr(rig.result.out.buf, "\nboth\n"));
    struct stat st;
    struct err err = ERR_INIT;
    assert_int_equal(beneath_lstat(rig.ws->root, "out/f", &st, &err), 0);
    /* Each has its own run folder, however quickly they follow each other. */
    CLEANUP(strbuf) struct strbuf seen = STRBUF_INIT;
    for (int i = 0; i < 3; i++) {
        program_rig_sh(&rig, "echo $RUN_DIR");
        assert_null(strstr(seen.buf, rig.result.out.buf));
        strbuf_add(&seen, rig.result.out.buf, rig.result.out.len);
    }
}

PROGRAM_TEST(time_is_limited)
{
    run((struct program_spec){
        .cmd = "sh", .args = ARGS("-c", "trap '' TERM; echo on; while :; do sleep 1; done"), .timeout_ms = 300});
    assert_true(rig.result.end.timed_out);
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(program_timeout_ms(0), 10000);
    assert_int_equal(program_timeout_ms(-3), 10000);
}

PROGRAM_TEST(no_process_outlives_the_program)
{
    /* In another session, two generations down, ignoring SIGTERM. */
    program_rig_sh(
        &rig,
        "setsid sh -c 'trap \"\" TERM HUP; sleep 98761.$MARK & sleep 98761.$MARK' & (setsid sleep 98761.$MARK &) ; "
        "until [ $(ls /proc | grep -c '^[0-9]') -gt 3 ]; do :; done; sleep 0.2; exit 3");
    assert_int_equal(rig.result.end.exit_code, 3);
    assert_true(rig.result.end.left_count >= 3);
    assert_int_equal(rig.result.end.survivors, 0);
    bool named = false;
    for (size_t i = 0; i < rig.result.end.left_count; i++)
        named = named || strcmp(rig.result.left[i].name, "sleep") == 0;
    assert_true(named);
    assert_int_equal(program_rig_count("sleep 98761"), 0);
    run((struct program_spec){
        .cmd = "sh", .args = ARGS("-c", "setsid sleep 98762.$MARK & setsid sleep 98762.$MARK"), .timeout_ms = 300});
    assert_true(rig.result.end.timed_out);
    assert_int_equal(program_rig_count("sleep 98762"), 0);
}

/* Without a sandbox, a program may kill its launcher. */
PROGRAM_TEST(nothing_is_left_without_a_launcher)
{
    if (strcmp(engine, "none") != 0)
        skip();
    program_rig_sh(&rig, "(setsid sleep 98771.$MARK &); sleep 0.2; kill -9 $PPID; exec sleep 98771.$MARK");
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(program_rig_count("sleep 98771"), 0);
    assert_true(rig.result.end.left_count >= 1);
    assert_int_equal(rig.result.end.survivors, 0);
    run((struct program_spec){.cmd = "sh",
                              .args =
                                  ARGS("-c", "(setsid sleep 98772.$MARK &); kill -STOP $PPID; exec sleep 98772.$MARK"),
                              .timeout_ms = 500});
    assert_true(rig.result.end.timed_out);
    assert_int_equal(program_rig_count("sleep 98772"), 0);
    /* A program that stops its launcher again and again. */
    run((struct program_spec){
        .cmd = "sh",
        .args = ARGS("-c", "p=$PPID; setsid sh -c \"while :; do kill -STOP $p; done\" & exec sleep 98773.$MARK"),
        .timeout_ms = 500});
    assert_true(rig.result.end.timed_out);
    assert_int_equal(program_rig_count("sleep 98773"), 0);
}

/* Any number of them. */
PROGRAM_TEST(many_are_left)
{
    program_rig_sh(&rig, "i=0; while [ $i -lt 100 ]; do setsid sleep 98774.$MARK & i=$((i+1)); done; sleep 0.5");
    assert_int_equal(rig.result.end.exit_code, 0);
    assert_int_equal(rig.result.end.left_count, PROCESS_LEFT_MAX);
    assert_int_equal(program_rig_count("sleep 98774"), 0);
}

static bool none_left(void *user)
{
    return program_rig_count(user) == 0;
}

static bool some_left(void *user)
{
    return program_rig_count(user) >= 2;
}

static void never(void *user, struct program_result *take_result)
{
    (void)user;
    (void)take_result;
    fail();
}

PROGRAM_TEST(freed_while_it_runs)
{
    struct err err = ERR_INIT;
    struct program_spec spec = {.cmd = "sh",
                                .args = ARGS("-c", "setsid sleep 98763.$MARK & setsid sleep 98763.$MARK & wait")};
    struct program *program = program_run(rig.programs, rig.ws, &spec, never, NULL, &err);
    assert_non_null(program);
    program_rig_await(&rig, some_left, (void *)(uintptr_t) "sleep 98763");
    program_free(program);
    program_rig_await(&rig, none_left, (void *)(uintptr_t) "sleep 98763");
    assert_non_null(strstr(recorder_text(&rig.recorder), "workspace.run it was stopped"));
    /* At any moment of its start. */
    for (int i = 0; i < 10; i++) {
        program = program_run(rig.programs, rig.ws, &spec, never, NULL, &err);
        assert_non_null(program);
        usleep((useconds_t)i * 1000);
        program_free(program);
    }
    program_rig_await(&rig, none_left, (void *)(uintptr_t) "sleep 98763");
    loop_free(rig.loop); /* waits for those that clean up */
    rig.loop = loop_new(clock_system());
    assert_int_equal(program_rig_count("sleep 98763"), 0);
    program_free(NULL);
}

/* In a separate process: starts a program that wants to stay, reports where its files are, and waits to be killed. */
static _Noreturn void start_and_wait(int told)
{
    struct err err = ERR_INIT;
    struct program_spec spec = {.cmd = "sh",
                                .args =
                                    ARGS("-c", "trap '' HUP TERM; setsid sleep 98768.$MARK & setsid sleep 98768.$MARK"),
                                .timeout_ms = 60000};
    program_rig_open(&rig, engine, NULL);
    if (!program_run(rig.programs, rig.ws, &spec, never, NULL, &err))
        _exit(1);
    program_rig_await(&rig, some_left, (void *)(uintptr_t) "sleep 98768");
    if (write(told, rig.folder, strlen(rig.folder)) < 0)
        _exit(1);
    close(told);
    for (;;)
        pause();
}

PROGRAM_TEST(it_dies_with_us)
{
    int ends[2];
    CLEANUP(strbuf) struct strbuf folder = STRBUF_INIT;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        start_and_wait(ends[1]);
    close(ends[1]);
    assert_int_equal(strbuf_read(&folder, ends[0], 0), 0);
    close(ends[0]);
    assert_true(folder.len > 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    program_rig_await(&rig, none_left, (void *)(uintptr_t) "sleep 98768");
    assert_int_equal(file_remove_tree(folder.buf, NULL), 0);
}

PROGRAM_TEST(output_is_bounded)
{
    program_rig_close(&rig);
    program_rig_open(&rig, engine, &(struct programs_options){.max_output = 1000});
    program_rig_sh(&rig, "head -c 300000 /dev/zero | tr '\\0' x; echo short >&2");
    assert_int_equal(rig.result.out.len, 1000);
    assert_int_equal(rig.result.out_bytes, 300000);
    assert_string_equal(rig.result.err.buf, "short\n");
}

PROGRAM_TEST(results_are_written_as_records)
{
    recorder_forget(&rig.recorder);
    run((struct program_spec){.cmd = "sh", .args = ARGS("-c", "exit 2"), .cwd = "work"});
    assert_string_equal(recorder_text(&rig.recorder),
                        "workspace.run - {\"cmd\":\"sh\",\"cwd\":\"work\",\"exit_code\":2,\"timed_out\":false}\n");
    struct err err = ERR_INIT;
    assert_false(program_rig_run(&rig, &(struct program_spec){.cmd = "x", .cwd = ".."}, &err));
    assert_non_null(strstr(recorder_text(&rig.recorder), "workspace.run path escapes workspace"));
}

static struct env_vars give_token(void *user)
{
    (void)user;
    static const struct env_var vars[] = {{"TOKEN", "given"}, {"K", "given"}, {"BASH_ENV", "evil"}};
    return (struct env_vars){vars, COUNT_OF(vars)};
}

PROGRAM_TEST(provider_and_host)
{
    setenv("KEYTURN_TEST_HOST", "host", 1);
    program_rig_close(&rig);
    program_rig_open(&rig, engine, &(struct programs_options){.provider = {give_token, NULL}, .host_env = true});
    struct program_spec spec = {.cmd = "sh",
                                .args = ARGS("-c", "echo $TOKEN $K ${BASH_ENV-none} ${KEYTURN_TEST_HOST-none}"),
                                .env = VARS({"K", "call"})};
    run(spec);
    assert_string_equal(rig.result.out.buf,
                        strcmp(engine, "none") == 0 ? "given call evil host\n" : "given call evil none\n");
    spec.clean_env = true;
    run(spec);
    assert_string_equal(rig.result.out.buf, "given call none none\n");
    unsetenv("KEYTURN_TEST_HOST");
}

/* With every engine, a program gets only harmless variables of ours; keys are in our environment. */
PROGRAM_TEST(a_bare_environment)
{
    setenv("KEYTURN_TEST_HOST", "host", 1);
    setenv("TZ", "Asia/Tokyo", 1);
    setenv("LC_TIME", "C", 1);
    program_rig_sh(
        &rig,
        "echo ${KEYTURN_TEST_HOST-none} $TZ $LC_TIME; test \"$HOME\" = \"$WORKSPACE_DIR\" && echo home; "
        "env | grep -cvE '^(PATH|HOME|LANG|LC_[A-Z]*|TERM|TZ|[A-Z]*_DIR|MARK|KEYTURN_PROGRAM|PWD|OLDPWD|SHLVL|_)='");
    assert_string_equal(rig.result.out.buf, "none Asia/Tokyo C\nhome\n0\n");
    unsetenv("KEYTURN_TEST_HOST");
    unsetenv("TZ");
    unsetenv("LC_TIME");
}

PROGRAM_TEST(limits_end_a_program)
{
    struct program_limits limits = {.memory_mb = 64, .pids = 12};
    run((struct program_spec){
        .cmd = "python3", .args = ARGS("-c", "b = bytearray(200 << 20); print(len(b))"), .limits = limits});
    assert_int_not_equal(rig.result.end.exit_code, 0);
    assert_non_null(strstr(rig.result.err.buf, "MemoryError"));
    run((struct program_spec){
        .cmd = "sh",
        .args = ARGS("-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 50 & done"),
        .limits = limits});
    assert_non_null(strstr(rig.result.err.buf, "fork"));
}

static const char together[] = "import mmap, time\n"
                               "m = mmap.mmap(-1, 200 << 20)\n" /* shared, so no process has it as its own */
                               "for i in range(0, 200 << 20, 4096): m[i] = 1\n"
                               "time.sleep(30)\n"
                               "print('reached')";

/* Its memory was seen above the limit, and that is reported. */
static void expect_seen(unsigned limit)
{
    unsigned said = 0, seen = 0;
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(rig.result.end.signum, SIGKILL);
    assert_false(rig.result.end.timed_out);
    assert_int_equal(
        sscanf(rig.result.why, "it was killed: it used more than %u MB of memory (%u MB when seen)", &said, &seen), 2);
    assert_int_equal(said, limit);
    assert_true(seen >= limit);
}

/* By a control group where one can be had, else because keyturn-launch watches. */
PROGRAM_TEST(limits_of_all_processes)
{
    bool whole = programs_capabilities(rig.programs).whole_limits;
    run((struct program_spec){.cmd = "python3", .args = ARGS("-c", together), .limits = {.memory_mb = 64}});
    assert_string_equal(rig.result.out.buf, "");
    if (whole) {
        assert_int_equal(rig.result.end.exit_code, -1);
        assert_string_equal(rig.result.why, "it was killed: it used more than 64 MB of memory");
        assert_false(rig.result.end.engine_failed);
    } else {
        expect_seen(64);
    }
    program_rig_sh(&rig, "echo sane");
    assert_string_equal(rig.result.out.buf, "sane\n");
    /* So do the default limits. */
    struct sandbox_engines engines = {0};
    assert_int_equal(sandbox_engines_load(&engines, NULL, NULL), 0);
    struct program_vector vector = {.engine = sandbox_engines_find(&engines, engine),
                                    .name = strrchr(rig.folder, '/') + 1};
    program_bounds_fill(&vector, &(struct program_spec){0}, &(struct program_limits){0});
    struct cgroup *group = program_bounds_group(&vector);
    assert_int_equal(group != NULL, whole && strcmp(engine, "none") != 0);
    assert_int_equal(vector.watch_memory, !cgroup_holds_memory(group));
    cgroup_free(group);
    sandbox_engines_release(&engines);
}

PROGRAM_TEST(limits_without_a_control_group)
{
    struct sandbox_engines engines = {0};
    assert_int_equal(sandbox_engines_load(&engines, NULL, NULL), 0);
    struct sandbox_engine alone = *sandbox_engines_find(&engines, engine);
    struct sandbox_program ungrouped = *alone.program;
    ungrouped.cgroup = false;
    alone.program = &ungrouped;
    program_rig_close(&rig);
    program_rig_open(&rig, engine, &(struct programs_options){.engine = &alone});
    assert_false(programs_capabilities(rig.programs).whole_limits);
    run((struct program_spec){
        .cmd = "sh", .args = ARGS("-c", "while :; do :; done"), .timeout_ms = 60000, .limits = {.cpu_percent = 1}});
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_int_equal(rig.result.end.signum, SIGXCPU);
    assert_string_equal(rig.result.why, "it was killed: it used more than 1 s of processor time");
    assert_false(rig.result.end.timed_out);
    run((struct program_spec){.cmd = "python3", .args = ARGS("-c", together), .limits = {.memory_mb = 64}});
    assert_string_equal(rig.result.out.buf, "");
    expect_seen(64);
    /* Forks that share their memory hold it once: four times 40 MB are 40 MB. */
    run((struct program_spec){.cmd = "python3",
                              .args = ARGS("-c", "import os, time\n"
                                                 "b = bytearray(b'1') * (40 << 20)\n"
                                                 "pids = [os.fork() for i in range(2)]\n"
                                                 "time.sleep(1)\n"
                                                 "if all(pids): [os.wait() for pid in pids]; print('fine')"),
                              .limits = {.memory_mb = 96}});
    assert_string_equal(rig.result.out.buf, "fine\n");
    assert_null(rig.result.why);
    program_rig_close(&rig);
    sandbox_engines_release(&engines);
    program_rig_open(&rig, engine, NULL);
}

PROGRAM_TEST(disk_is_limited)
{
    rig.ws->policy.max_disk_bytes = 3 << 20;
    program_rig_sh(&rig, "head -c 1000000 /dev/zero > work/a");
    assert_int_equal(rig.result.end.exit_code, 0);
    assert_false(rig.result.end.over_limit);
    /* One file cannot exceed the limit for all of them, whether that is seen in time or not; several together are
     * reported. */
    program_rig_sh(&rig, "head -c 9000000 /dev/zero > work/b; head -c 2000000 /dev/zero > work/c");
    struct stat st;
    assert_int_equal(beneath_lstat(rig.ws->root, "work/b", &st, NULL), 0);
    assert_in_range(st.st_size, 1, 3 << 20);
    assert_true(rig.result.end.over_limit);
    assert_non_null(rig.result.end.why);
}

/* The program need not end for that, and one that only runs in a full workspace is left alone. */
PROGRAM_TEST(disk_is_watched)
{
    rig.ws->policy.max_disk_bytes = 1 << 20;
    program_rig_sh(&rig, "i=0; while :; do head -c 200000 /dev/zero > work/$i; i=$((i+1)); sleep 0.1; done");
    assert_true(rig.result.end.over_limit);
    assert_true(rig.result.end.forced);
    assert_false(rig.result.end.timed_out);
    assert_int_equal(rig.result.end.exit_code, -1);
    assert_non_null(strstr(rig.result.why, "it was killed: the workspace is full: it has "));
    assert_non_null(strstr(rig.result.why, " limit "));
    assert_non_null(strstr(rig.result.why, "1 MB"));
    program_rig_sh(&rig, "rm work/*; i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; "
                         "while :; do head -c 200000 /dev/zero > $i; i=$((i+1)); done");
    assert_true(rig.result.end.over_limit);
    assert_true(rig.result.end.forced);
    program_rig_sh(&rig, "sleep 1; rm -r d; echo gone");
    assert_int_equal(rig.result.end.exit_code, 0);
    assert_false(rig.result.end.over_limit);
    assert_string_equal(rig.result.out.buf, "gone\n");
}

/* Counting leaves no traces. */
PROGRAM_TEST(modes_of_files_stay)
{
    rig.ws->policy.max_disk_bytes = 1 << 20;
    program_rig_sh(&rig, "mkdir -p d/e; chmod 000 d/e d; sleep 1.2; stat -c %a d");
    assert_string_equal(rig.result.out.buf, "0\n");
}

/* Descending in many places hides no usage. */
PROGRAM_TEST(deep_branches_are_watched)
{
    rig.ws->policy.max_disk_bytes = 4 << 20;
    run((struct program_spec){.cmd = "python3",
                              .args = ARGS("-c", "import os, time\n"
                                                 "top = os.open('.', os.O_RDONLY)\n"
                                                 "ends = []\n"
                                                 "for i in range(110):\n"
                                                 "    os.fchdir(top); os.mkdir('b%d' % i); os.chdir('b%d' % i)\n"
                                                 "    for j in range(203): os.mkdir('d'); os.chdir('d')\n"
                                                 "    ends.append(os.open('.', os.O_RDONLY))\n"
                                                 "time.sleep(1)\n"
                                                 "for n in range(10000):\n"
                                                 "    for end in ends:\n"
                                                 "        os.fchdir(end)\n"
                                                 "        with open('f%d' % n, 'wb') as f: f.write(bytes(20000))\n"
                                                 "    time.sleep(0.05)\n")});
    assert_true(rig.result.end.over_limit);
    assert_true(rig.result.end.forced);
    assert_non_null(strstr(rig.result.why, "the workspace is full: it has "));
}

/* A program that exited was not killed. */
PROGRAM_TEST(full_at_the_end)
{
    rig.ws->policy.max_disk_bytes = 1 << 20;
    program_rig_sh(&rig, "for i in 1 2 3; do head -c 900000 /dev/zero > work/$i; done");
    assert_true(rig.result.end.over_limit);
    if (rig.result.end.exit_code == 0)
        assert_int_equal(strncmp(rig.result.why, "the workspace is full", strlen("the workspace is full")), 0);
}

static void never_told(void *user, const char *why)
{
    (void)user;
    (void)why;
    fail();
}

/* Program and workspace may end while a thread counts. */
PROGRAM_TEST(counting_delays_no_program)
{
    struct err err = ERR_INIT;
    struct workspace_policy policy = {.max_disk_bytes = 1};
    struct workspace *ws = workspace_create(&(struct workspace_options){.base = rig.folder}, "goes", &policy, &err);
    assert_non_null(ws);
    struct disk_watch *watch = disk_watch_new(rig.loop, ws, never_told, never_told, NULL);
    disk_watch_finish(watch);
    disk_watch_free(watch);
    assert_int_equal(workspace_cleanup(ws, &err), 0);
    workspace_free(ws);
    loop_free(rig.loop); /* waits for the thread */
    rig.loop = loop_new(clock_system());
    assert_null(disk_watch_new(rig.loop, rig.ws, never_told, never_told, NULL));
}

TEST(remote_engine_cannot_run_programs)
{
    struct sandbox_engines engines;
    struct err err = ERR_INIT;
    assert_int_equal(sandbox_engines_load(&engines, NULL, &err), 0);
    struct programs_options options = {.engine = sandbox_engines_find(&engines, "ssh")};
    assert_null(programs_new(&options, &err));
    assert_string_equal(
        err.text,
        "the engine ssh cannot run programs: the workspace is not on its machine (use bwrap, podman or docker)");
    sandbox_engines_release(&engines);
}
