/* Tests the harness around its scripts: secrets, a host that does not read, floods, signals, and the death of the
 * zygote. */

#include "base/mem.h"
#include "support/harness_rig.h"
#include "support/test.h"
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PROGRAM      BUILD_DIR "/keyturn-harness"
#define MASKED(name) "[secret " name "]"
#define MASK         MASKED("API_KEY")

#ifdef __SANITIZE_ADDRESS__
#define SHADOW_MEMORY true /* memory is not returned at once then */
#else
#define SHADOW_MEMORY false
#endif

static struct harness_rig rig;

static int set_up(void **state)
{
    (void)state;
    harness_rig_init(&rig, PROGRAM);
    rig.env[0] = "API_KEY=sesame-4711";
    rig.env[1] = "PEM_KEY=-----one\ntwo-----";
    rig.env[2] = "PIN=123";
    rig.env[3] = "NUMBER_KEY=98765432";
    rig.env[4] = "API_KEY_LONG=sesame-4711-and-more";
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    harness_rig_release(&rig);
    return 0;
}

static void says(const char *script, const char *expected)
{
    assert_string_equal(harness_says(&rig, script, 10), expected);
}

static void says_with(const char *secrets, const char *script, const char *expected)
{
    CLEANUP(free) char *more = xasprintf("\"required_secrets\":[%s]", secrets);
    assert_string_equal(harness_says_with(&rig, script, 10, more), expected);
}

/* ---- secrets ---- */

TEST_WITH(missing_secrets_are_all_named, set_up, tear_down)
{
    harness_rig_start(&rig);
    says_with("\"A_KEY\",\"API_KEY\",\"B_KEY\"", "emit_result(1)", "error Missing secrets: A_KEY, B_KEY\ndone\n");
    says("emit_result(1)", "result 1\ndone\n");
}

TEST_WITH(a_script_sees_the_secrets_it_declared, set_up, tear_down)
{
    const char *all = "import os\nemit_result(sorted(os.environ))";
    harness_rig_start(&rig);
    says(all, "result [\"HOME\",\"LANG\",\"PATH\",\"TMPDIR\"]\ndone\n");
    says_with("\"API_KEY\"", all, "result [\"API_KEY\",\"HOME\",\"LANG\",\"PATH\",\"TMPDIR\"]\ndone\n");
    says_with("\"API_KEY\"", "import os\nemit_result(os.environ['API_KEY'][:6] + str(len(os.environ['API_KEY'])))",
              "result \"sesame11\"\ndone\n");
    says(all, "result [\"HOME\",\"LANG\",\"PATH\",\"TMPDIR\"]\ndone\n");
}

TEST_WITH(values_of_secrets_never_leave, set_up, tear_down)
{
    harness_rig_start(&rig);
    says_with("\"API_KEY\"",
              "import os, sys\nk = os.environ['API_KEY']\n"
              "print(k); print('x' + k + 'y', file=sys.stderr); emit_log(k); emit_log('m', level=k)\n"
              "emit_intermediate(k, [k, {k: k}]); emit_result('a' + k)\n",
              "log stdout " MASK "\nlog stderr x" MASK "y\nlog info " MASK "\nlog " MASK " m\n"
              "intermediate " MASK " [\"" MASK "\",{\"" MASK "\":\"" MASK "\"}]\nresult \"a" MASK "\"\ndone\n");
    says_with("\"API_KEY\"",
              "import os, sys\nk = os.environ['API_KEY']\n"
              "for c in k: sys.stdout.write(c); sys.stdout.flush()\n"
              "for c in k: os.write(2, c.encode())\n"
              "sys.stdout.write('sesa'); emit_log('between'); sys.stdout.write('me-4711')\n",
              "log stdout " MASK "\nlog info between\nlog stdout " MASK "\nlog stderr " MASK "\ndone\n");
    says_with("\"PEM_KEY\",\"PIN\"", "import os\nprint(os.environ['PEM_KEY'], os.environ['PIN'])",
              "log stdout " MASKED("PEM_KEY") " 123\ndone\n");
    says_with("\"NUMBER_KEY\"", "import os\nemit_result([int(os.environ['NUMBER_KEY']), 9876543])",
              "result [\"" MASKED("NUMBER_KEY") "\",9876543]\ndone\n");
    says_with("\"API_KEY\",\"API_KEY_LONG\"", "import os\nprint(os.environ['API_KEY_LONG'], os.environ['API_KEY'])",
              "log stdout " MASKED("API_KEY_LONG") " " MASK "\ndone\n");
    says_with("\"API_KEY\"", "import os\nraise ValueError(os.environ['API_KEY'])\n",
              "error ValueError: " MASK "\ndone\n");
    assert_null(strstr(rig.traceback, "sesame-4711"));
    assert_non_null(strstr(rig.traceback, "ValueError: " MASK));
    says("print('sesame-4711')", "log stdout sesame-4711\ndone\n"); /* not a secret of this script */
}

/* Values that look different in the output: escaped, split into lines, and where a text is cut. */
TEST_WITH(values_in_other_forms_never_leave, set_up, tear_down)
{
    static const char *const ways[] = {"{}[s]",
                                       "print([s])",
                                       "import json; print(json.dumps(s))",
                                       "sys.exit(s)",
                                       "print(s.splitlines()[1])",
                                       "emit_log(repr(s.encode()))",
                                       "emit_result({s: {1}})",
                                       "raise ValueError('x' * 4085 + s * 40)",
                                       "raise ValueError(s * 10000)"};
    CLEANUP(strbuf) struct strbuf pem = STRBUF_INIT;
    strbuf_addstr(&pem, "PEM_KEY=-----BEGIN 'a' \"b\" KEY-----\n");
    for (int i = 0; i < 8; i++)
        strbuf_addf(&pem, "MIIE\\%d/vgIBADANBgkqhkiG9w0BAQEFAASC\n", i);
    strbuf_addstr(&pem, "-----END KEY-----\n");
    rig.env[1] = pem.buf;
    harness_rig_start(&rig);
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        CLEANUP(free) char *script = xasprintf("import os, sys\ns = os.environ['PEM_KEY']\n%s\n", ways[i]);
        const char *said = harness_says_with(&rig, script, 10, "\"required_secrets\":[\"PEM_KEY\"]");
        if (strstr(said, "MII") || strstr(said, "BEGIN") || strstr(said, "BADANB"))
            fail_msg("%s\nsaid: %s", ways[i], said);
        if (rig.traceback && (strstr(rig.traceback, "MII") || strstr(rig.traceback, "BADANB")))
            fail_msg("%s\nsaid: %s", ways[i], rig.traceback);
    }
}

/* ---- a host that does not read ---- */

static long resident_kb(pid_t pid)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    long size, resident = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

TEST_WITH(a_host_that_does_not_read_stops_the_script, set_up, tear_down)
{
    CLEANUP(free) char *line = harness_request("f", "for i in range(1000000): print('y' * 1000)", 2, NULL);
    const struct json *event;
    const char *type;
    harness_rig_start(&rig);
    harness_rig_send(&rig, line, strlen(line));
    usleep(1500000);
    assert_true(resident_kb(rig.pid) < 64 << 10);
    usleep(1000000); /* its time still ends, before a host that reads again gets too much */
    do {
        event = harness_rig_event(&rig);
        assert_non_null(event);
        type = json_str(json_get(event, "type"), "");
    } while (strcmp(type, "log") == 0);
    assert_string_equal(type, "error");
    assert_string_equal(json_str(json_get(event, "message"), ""), "Script timed out after 2s");
    assert_string_equal(json_str(json_get(harness_rig_event(&rig), "type"), ""), "script_done");
    says("emit_result(1)", "result 1\ndone\n");
}

TEST_WITH(a_flood_is_cut, set_up, tear_down)
{
    CLEANUP(free) char *line = harness_request("f", "while True: print('y' * 100000)", 60, NULL);
    size_t bytes = 0;
    const struct json *event;
    harness_rig_start(&rig);
    harness_rig_send(&rig, line, strlen(line));
    for (;;) {
        event = harness_rig_event(&rig);
        assert_non_null(event);
        bytes += event->src_len;
        if (strcmp(json_str(json_get(event, "type"), ""), "log") != 0)
            break;
        arena_reset(&rig.arena);
    }
    assert_string_equal(json_str(json_get(event, "message"), ""), "Script wrote more than 64 MB of output");
    assert_true(bytes > (size_t)60 << 20 && bytes < (size_t)70 << 20);
    assert_true(resident_kb(rig.pid) < 64 << 10);
    assert_string_equal(json_str(json_get(harness_rig_event(&rig), "type"), ""), "script_done");
    rig.ready = NULL;
    says("emit_result(1)", "result 1\ndone\n");
}

/* Small values cost the most, and the supervisor runs for a long time. */
TEST_WITH(large_values_cost_little_and_nothing_for_good, set_up, tear_down)
{
    CLEANUP(free)
    char *line = harness_request("m",
                                 "import os\n"
                                 "for i in range(6): emit_intermediate('x', ['y' * 16] * 400000)\n"
                                 "os.set_blocking(3, True)\n"
                                 "os.write(3, b'\\nR[' + b'0,' * 4000000 + b'0]\\n')\n"
                                 "emit_result([',' * 4000000])\n"
                                 "emit_result([0] * 4000000)\n",
                                 20, NULL);
    const struct json *event;
    unsigned large = 0;
    long most = 0, now;
    harness_rig_start(&rig);
    says("emit_result(1)", "result 1\ndone\n");
    harness_rig_send(&rig, line, strlen(line));
    do {
        arena_reset(&rig.arena);
        event = harness_rig_event(&rig);
        assert_non_null(event);
        now = resident_kb(rig.pid);
        most = now > most ? now : most;
        if (strcmp(json_str(json_get(event, "type"), ""), "intermediate") == 0)
            large++;
        if (strcmp(json_str(json_get(event, "type"), ""), "log") == 0)
            assert_string_equal(json_str(json_get(event, "message"), ""),
                                "the script wrote to the event pipe itself: more than 500000 values");
        if (strcmp(json_str(json_get(event, "type"), ""), "error") == 0)
            assert_string_equal(json_str(json_get(event, "message"), ""),
                                "ValueError: emit_result: 4000000 values are too many (at most 499900)");
    } while (strcmp(json_str(json_get(event, "type"), ""), "script_done") != 0);
    assert_int_equal(large, 6);
    says("emit_result(1)", "result 1\ndone\n");
    print_message("%ld kB at most, %ld kB afterwards\n", most, resident_kb(rig.pid));
    if (SHADOW_MEMORY)
        return;
    assert_true(most < 128 << 10);
    assert_true(resident_kb(rig.pid) < 16 << 10);
}

TEST_WITH(a_long_line_comes_in_pieces, set_up, tear_down)
{
    size_t count = 0, lines = 0;
    harness_rig_start(&rig);
    const char *said = harness_says(&rig, "print('\xd0\xb6' * 50000)", 5);
    for (const char *at = said; *at; at++) {
        count += *at == '\xb6';
        lines += *at == '\n';
    }
    assert_int_equal(count, 50000);
    assert_null(strstr(said, "\xef\xbf\xbd"));
    assert_int_equal(lines, (100000 + 8191) / 8192 + 1);
}

/* ---- processes ---- */

/* Returns the child of a process, by name; 0 if it has none. */
static pid_t child_of(pid_t parent)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *file = fopen(path, "r");
    int child = 0;
    if (file && fscanf(file, "%d", &child) != 1)
        child = 0;
    if (file)
        fclose(file);
    return child;
}

/* Waits until the harness has had the same new child for a while: descendants of the old child become its children for
 * a moment. */
static void await_another_child(pid_t old)
{
    pid_t last = 0;
    for (int i = 0, same = 0; i < 2000 && same < 40; i++) {
        pid_t now = child_of(rig.pid);
        same = now && now != old && now == last ? same + 1 : 0;
        last = now;
        usleep(5000);
    }
}

TEST_WITH(a_dead_zygote_is_replaced, set_up, tear_down)
{
    CLEANUP(free) char *line = harness_request("z", "print('on'); import time; time.sleep(60)", 60, NULL);
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    scratch_write(&rig.scratch, "tools/a.py", "def f(): return 5\n");
    harness_rig_start(&rig);
    harness_rig_send(&rig, line, strlen(line));
    harness_tell(&told, harness_rig_event(&rig));
    pid_t zygote = child_of(rig.pid);
    assert_true(zygote > 0);
    kill(zygote, SIGKILL);
    harness_tell(&told, harness_rig_event(&rig));
    harness_tell(&told, harness_rig_event(&rig));
    assert_string_equal(
        told.buf,
        "log stdout on\nerror The harness lost the process that starts scripts; the script was killed with it\ndone\n");
    says("emit_result(f())", "result 5\ndone\n");
    zygote = child_of(rig.pid);
    kill(zygote, SIGKILL);       /* while nothing runs */
    await_another_child(zygote); /* a request before that is heard ends with it */
    says("emit_result(f())", "result 5\ndone\n");
    assert_int_equal(harness_rig_end(&rig), 0);
}

TEST_WITH(a_dead_spare_is_replaced, set_up, tear_down)
{
    pid_t spare = 0;
    harness_rig_start(&rig);
    says("emit_result(1)", "result 1\ndone\n");
    for (int i = 0; i < 200 && spare <= 0; i++, usleep(5000))
        spare = child_of(child_of(rig.pid));
    assert_true(spare > 0);
    kill(spare, SIGKILL);
    usleep(50000);
    says("emit_result(1)", "result 1\ndone\n");
}

/* Nothing is left of a harness, however it ended. */
static void check_gone(pid_t zygote)
{
    for (int i = 0; i < 1000 && kill(zygote, 0) == 0; i++)
        usleep(5000);
    assert_int_equal(kill(zygote, 0), -1);
}

TEST_WITH(signals_and_a_lost_host_end_the_harness, set_up, tear_down)
{
    CLEANUP(free) char *line = harness_request("s", "print('on')\nwhile True: print('x' * 100)", 60, NULL);
    harness_rig_start(&rig);
    pid_t zygote = child_of(rig.pid);
    harness_rig_send(&rig, line, strlen(line));
    assert_non_null(harness_rig_event(&rig));
    kill(rig.pid, SIGTERM);
    assert_int_equal(harness_rig_wait(&rig), 0);
    check_gone(zygote);

    harness_rig_start(&rig);
    zygote = child_of(rig.pid);
    harness_rig_send(&rig, line, strlen(line));
    assert_non_null(harness_rig_event(&rig));
    close(rig.out); /* the reader is gone */
    rig.out = -1;
    assert_int_equal(harness_rig_wait(&rig), 0);
    check_gone(zygote);

    harness_rig_start(&rig);
    zygote = child_of(rig.pid);
    kill(rig.pid, SIGKILL);
    assert_int_equal(harness_rig_wait(&rig), -SIGKILL);
    check_gone(zygote);
}

/* All requests of a pipe are answered. If the engine says that the end of input is the end of the host, everything ends
 * then, even if another process holds the output or many requests wait. */
TEST_WITH(end_of_input_ends_the_running_script_if_configured, set_up, tear_down)
{
    CLEANUP(free) char *quick = harness_request("q", "import time; time.sleep(0.3); emit_result(1)", 5, NULL);
    CLEANUP(free) char *slow = harness_request("s", "print('on')\nimport time; time.sleep(60)", 60, NULL);
    CLEANUP(free) char *comment = xasprintf("# %0100000d", 0);
    CLEANUP(free) char *large = harness_request("l", comment, 60, NULL);
    pid_t zygote;
    harness_rig_start(&rig);
    harness_rig_send(&rig, quick, strlen(quick));
    close(rig.in);
    rig.in = -1;
    assert_string_equal(json_str(json_get(harness_rig_event(&rig), "type"), ""), "final_result");
    assert_string_equal(json_str(json_get(harness_rig_event(&rig), "type"), ""), "script_done");
    assert_int_equal(harness_rig_wait(&rig), 0);

    rig.options[0] = "--end-with-input";
    for (int waiting = 0; waiting < 2; waiting++) {
        harness_rig_start(&rig);
        zygote = child_of(rig.pid);
        harness_rig_send(&rig, slow, strlen(slow));
        assert_non_null(harness_rig_event(&rig));
        if (waiting)
            harness_rig_send(&rig, large, strlen(large));
        usleep(50000);
        assert_int_equal(harness_rig_end(&rig), 0);
        check_gone(zygote);
        assert_null(harness_rig_event(&rig));
    }
}

/* A kernel without Landlock: the call that creates a set of rules is missing. */
static void without_landlock(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444, 0, 1), /* landlock_create_ruleset */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {COUNT_OF(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(126);
}

TEST_WITH(missing_layer_stops_the_harness_unless_allowed, set_up, tear_down)
{
    char line[512];
    rig.before = without_landlock;
    harness_rig_launch(&rig);
    assert_null(harness_rig_event(&rig));
    assert_int_equal(harness_rig_wait(&rig), 3);
    ssize_t count = read(rig.err, line, sizeof(line) - 1);
    assert_true(count > 0);
    line[count] = '\0';
    assert_non_null(strstr(line, "keyturn-harness: landlock: "));
    assert_ptr_equal(strchr(line, '\n'), line + count - 1);

    rig.options[0] = "--allow-degraded";
    harness_rig_start(&rig);
    const struct json *sandbox = json_get(rig.ready, "sandbox");
    assert_int_equal(json_int(json_get(sandbox, "landlock"), 7), 0);
    assert_true(json_bool(json_get(sandbox, "seccomp"), false));
    assert_non_null(strstr(json_str(json_get(sandbox, "degraded"), ""), "landlock"));
    says("emit_result(1)", "result 1\ndone\n");
}

static size_t count_descriptors(pid_t pid)
{
    CLEANUP(free) char *path = xasprintf("/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    size_t count = 0;
    if (!dir)
        return 0; /* not readable for us: the process is not dumpable, and we are not root */
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

TEST_WITH(many_runs_leak_no_descriptors, set_up, tear_down)
{
    harness_rig_start(&rig);
    says("emit_result(1)", "result 1\ndone\n");
    usleep(200000);
    size_t supervisor = count_descriptors(rig.pid);
    size_t zygote = count_descriptors(child_of(rig.pid));
    for (int i = 0; i < 100; i++) {
        if (i % 2)
            says("emit_result(1)", "result 1\ndone\n");
        else
            says("import os; os._exit(3)", "error Script ended its process with exit status 3\ndone\n");
    }
    usleep(200000);
    assert_int_equal(count_descriptors(rig.pid), supervisor);
    assert_int_equal(count_descriptors(child_of(rig.pid)), zygote);
}
