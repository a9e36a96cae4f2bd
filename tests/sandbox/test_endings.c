/* Tests every way a script can end, and that the harness serves the next one after each: one error that names the
 * cause, then script_done, and nothing after it. */

#include "base/mem.h"
#include "support/harness_rig.h"
#include "support/test.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM BUILD_DIR "/keyturn-harness"

#ifdef __SANITIZE_ADDRESS__
#define SHADOW_MEMORY true /* no limit on the address space then */
#else
#define SHADOW_MEMORY false
#endif

static struct harness_rig rig;

static int set_up(void **state)
{
    (void)state;
    harness_rig_init(&rig, PROGRAM);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    harness_rig_release(&rig);
    return 0;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Expects exactly one error with this text at the end of the events, and that a sane script runs after it. */
static void ends(const char *script, double timeout, const char *cause)
{
    const char *said = harness_says(&rig, script, timeout);
    const char *error = strncmp(said, "error ", 6) == 0 ? said : strstr(said, "\nerror ");
    const size_t len = strlen(said);
    if (!error || !strstr(error, cause) || len < 6 || strcmp(said + len - 6, "\ndone\n") != 0 ||
        strstr(error + 1, "\nerror ") || strstr(said, "BUG"))
        fail_msg("%s\nsaid: %s\nbut not: %s", script, said, cause);
    assert_string_equal(harness_says(&rig, "emit_result(1)", 10), "result 1\ndone\n");
}

TEST_WITH(early_exit_is_an_error_with_its_code, set_up, tear_down)
{
    harness_rig_start(&rig);
    ends("import sys; sys.exit(3)", 5, "error Script tried to exit (code 3)\n");
    ends("exit()", 5, "error Script tried to exit (code 0)\n");
    ends("quit(2)", 5, "error Script tried to exit (code 2)\n");
    ends("raise SystemExit('no more')", 5, "error Script tried to exit (code 'no more')\n");
    ends("emit_result(5); import os; os._exit(0)", 5, "error Script ended its process with exit status 0\n");
    ends("import os; os._exit(7)", 5, "error Script ended its process with exit status 7\n");
    ends("import sys, os\nsys.excepthook = lambda *a: os._exit(0)\n1/0", 5, "error ZeroDivisionError");
    ends("import atexit, os\natexit.register(os._exit, 0)\n1/0", 5, "error ZeroDivisionError");
    ends("import sys, os\nsys.stdout.flush = lambda: os._exit(0)\n1/0", 5, "error Script ended its process");
    ends("import threading, os\nthreading.Thread(target=os._exit, args=(4,)).start()\nimport time; time.sleep(5)", 5,
         "error Script ended its process with exit status 4\n");
    ends("import traceback\ntraceback.TracebackException = None\n1/0", 5, "error ZeroDivisionError\n");
}

TEST_WITH(a_crash_is_reported_by_its_signal, set_up, tear_down)
{
    harness_rig_start(&rig);
    ends("import os; os.abort()", 5, "error Script aborted its process (SIGABRT)\n");
    ends("import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr([self])\nrepr(A())",
         10, "error Script crashed the interpreter (SIGSEGV): too deep a recursion used up its stack\n");
    ends("import signal; signal.raise_signal(signal.SIGTERM)", 5, "error Script was killed by signal 15 (SIGTERM)\n");
    ends("import signal; signal.raise_signal(signal.SIGKILL)", 5, "error Script was killed (SIGKILL)");
}

/* A script without memory left can end in many ways; none ends the harness, and each has its cause. */
TEST_WITH(missing_memory_is_reported, set_up, tear_down)
{
    static const char full[] =
        "kept = []\nsize = 1 << 20\nwhile size:\n    try:\n        kept.append(bytearray(size))\n"
        "    except MemoryError:\n        size //= 2\n";
    static const char *const then[] = {
        "emit_intermediate('a', 1)", "emit_intermediate('a' * 3000, 'b')", "emit_log('a')",
        "print('a' * 9000)",         "emit_result(list(range(100000)))",   "import os; os.abort()"};
    static const char *const endless[] = {"def f(): f()\nf()", "def f(n): return f(n + 1) + 1\nf(0)",
                                          "def f(*all): f(*all, 1)\nf()"};
    if (SHADOW_MEMORY)
        skip();
    harness_rig_start(&rig);
    for (size_t i = 0; i < COUNT_OF(then); i++) {
        CLEANUP(free) char *script = xasprintf("%s%s\nx = bytearray(1 << 22)\n", full, then[i]);
        ends(script, 60, "Script ran out of memory (512 MB)\n");
    }
    for (size_t i = 0; i < COUNT_OF(endless); i++) {
        CLEANUP(free) char *script = xasprintf("import sys\nsys.setrecursionlimit(10**9)\n%s\n", endless[i]);
        ends(script, 60, "Script ran out of memory (512 MB)\n");
    }
}

TEST_WITH(limits_are_named, set_up, tear_down)
{
    harness_rig_start(&rig);
    if (!SHADOW_MEMORY) {
        ends("x = bytearray(10 << 30)", 10, "error MemoryError");
        ends("x = []\nwhile True: x.append(bytearray(1 << 20))", 20, "error MemoryError");
        ends("x = [0]\nwhile True: x = x + x", 20, "error MemoryError");
    }
    ends("f = open('big', 'wb')\nwhile True: f.write(bytes(1 << 20))", 20, "File too large");
    ends("import threading\n"
         "def spin():\n"
         "    import hashlib\n"
         "    data = bytes(1 << 20)\n"
         "    while True: hashlib.sha256(data)\n"
         "for i in range(4): threading.Thread(target=spin, daemon=True).start()\n"
         "spin()\n",
         2, "error Script ");
}

TEST_WITH(the_timeout_names_the_line, set_up, tear_down)
{
    harness_rig_start(&rig);
    double began = now_s();
    ends("x = 1\nwhile True:\n    x += 1\n", 1, "error Script timed out after 1s\n");
    assert_true(now_s() - began < 10);
    assert_string_equal(harness_says(&rig, "import time\nprint('before')\ntime.sleep(60)\n", 1.5),
                        "log stdout before\nerror Script timed out after 1.5s\ndone\n");
    assert_non_null(strstr(rig.traceback, "File \"<script>\", line 3, in <module>\n    time.sleep(60)\n"));
    assert_null(strstr(rig.traceback, "<harness>"));
    assert_string_equal(harness_says_with(&rig, "while True: pass", 1.25, "\"named_timeout\":2"),
                        "error Script timed out after 2s\ndone\n");
    assert_string_equal(harness_says(&rig, "import time; time.sleep(1.2); emit_result(2)", 5), "result 2\ndone\n");
}

TEST_WITH(the_timeout_cannot_be_swallowed, set_up, tear_down)
{
    static const char *const stubborn[] = {
        "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass\n",
        ("import signal\nfor s in signal.valid_signals():\n    try: signal.signal(s, signal.SIG_IGN)\n"
         "    except (OSError, ValueError): pass\nsignal.alarm(0)\nwhile True: pass\n"),
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nwhile True: pass\n",
        "import itertools\nsum(itertools.repeat(1))\n",
        "import threading\nthreading.Lock().acquire() or 1\nl = threading.Lock(); l.acquire(); l.acquire()\n",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n",
        "import time\ntry:\n    time.sleep(60)\nexcept BaseException:\n    emit_result('late')\n",
        "import re\nre.match('(a+)+$', 'a' * 64 + 'b')\n",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E\n",
    };
    harness_rig_start(&rig);
    for (size_t i = 0; i < COUNT_OF(stubborn); i++) {
        const double began = now_s();
        assert_string_equal(harness_says(&rig, stubborn[i], 1), "error Script timed out after 1s\ndone\n");
        assert_true(now_s() - began < 5);
        assert_string_equal(harness_says(&rig, "emit_result(1)", 10), "result 1\ndone\n");
    }
}

TEST_WITH(nothing_comes_after_the_end, set_up, tear_down)
{
    harness_rig_start(&rig);
    harness_says(&rig,
                 "import threading, time\n"
                 "def late():\n"
                 "    while True:\n"
                 "        emit_log('late'); print('late'); time.sleep(0.0001)\n"
                 "for i in range(4): threading.Thread(target=late, daemon=True).start()\n"
                 "time.sleep(0.05)\n",
                 5);
    for (int i = 0; i < 20; i++)
        assert_string_equal(harness_says(&rig, "emit_result(1)", 5), "result 1\ndone\n");
    assert_null(harness_rig_event_within(&rig, 100));
}

TEST_WITH(threads_that_are_no_daemons_are_waited_for, set_up, tear_down)
{
    size_t lines = 0;
    harness_rig_start(&rig);
    const char *said = harness_says(&rig,
                                    "import threading\n"
                                    "def talk(n):\n"
                                    "    for i in range(200): emit_log(f'{n} {i} ' + 'x' * (i * 40))\n"
                                    "for n in range(8): threading.Thread(target=talk, args=(n,)).start()\n",
                                    20);
    for (const char *at = said; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 1601);
    assert_null(strstr(said, "warning"));
}

TEST_WITH(raw_bytes_become_text_of_the_script, set_up, tear_down)
{
    harness_rig_start(&rig);
    assert_string_equal(
        harness_says(&rig, "import os\nos.write(1, b'\\xd0'); os.write(1, b'\\xb6\\xff\\n'); os.write(2, b'two')", 5),
        "log stdout \xd0\xb6\xef\xbf\xbd\nlog stderr two\ndone\n");
    assert_string_equal(harness_says(&rig,
                                     "import sys\nsys.stdout.buffer.write(b'\\xe2\\x82'); sys.stdout.flush()\n"
                                     "sys.stdout.buffer.write(b'\\xac\\n')\nprint('\\ud800\\\\n')",
                                     5),
                        "log stdout \xe2\x82\xac\nlog stdout \\ud800\\n\ndone\n");
    assert_string_equal(
        harness_says(&rig, "print('{\"type\":\"script_done\",\"execution_id\":\"r3\"}')\nemit_result(1)", 5),
        "log stdout {\"type\":\"script_done\",\"execution_id\":\"r3\"}\nresult 1\ndone\n");
}

TEST_WITH(forged_records_have_no_effect_on_the_protocol, set_up, tear_down)
{
    harness_rig_start(&rig);
    const char *said =
        harness_says(&rig,
                     "import os\n"
                     "for fd in range(3, 64):\n"
                     "    for text in (b'{\"type\":\"final_result\",\"execution_id\":\"other\",\"data\":1}\\n', "
                     "b'T{\"x\":\"NETWORK\"}\\n',\n"
                     "                 b'S{}\\n', b'Qx\\n', b'R[[[\\n', b'no newline'):\n"
                     "        try: os.write(fd, text)\n"
                     "        except OSError: break\n"
                     "emit_result(2)\n",
                     5);
    assert_string_equal(said,
                        "log warning the script wrote to the event pipe itself: an unknown kind\n"
                        "log warning the script wrote to the event pipe itself: a record that is not a script's\n"
                        "log warning the script wrote to the event pipe itself: a record that is not a script's\n"
                        "log warning the script wrote to the event pipe itself: an unknown kind\n"
                        "log warning the script wrote to the event pipe itself: not JSON: expected a value at byte 4\n"
                        "log warning the script wrote to the event pipe itself: an unknown kind\n"
                        "result 2\ndone\n");
    /* An error event that the script itself wrote counts as its end. */
    assert_string_equal(harness_says(&rig, "import os\nos.write(3, b'\\nX{}\\n')\nwhile True: pass", 5), "done\n");
    ends("import os\nos.close(3)\n", 5, "error Script closed the event pipe");
    ends("import os\nos.dup2(1, 3)\n", 2, "");
    ends("import os\nos.closerange(0, 64)\nraise ValueError", 5, "error Script closed the event pipe");
}

TEST_WITH(a_script_has_four_descriptors, set_up, tear_down)
{
    harness_rig_start(&rig);
    assert_string_equal(harness_says(&rig,
                                     "import os\nopen_ones = []\n"
                                     "for fd in range(64):\n"
                                     "    try: os.fstat(fd); open_ones.append(fd)\n"
                                     "    except OSError: pass\n"
                                     "emit_result([open_ones, os.read(0, 1) == b''])",
                                     5),
                        "result [[0,1,2,3],true]\ndone\n");
}
