/* Files that come with a request: where they are put, what a script can do with them, and what is refused. */

#include "base/mem.h"
#include "support/harness_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define PROGRAM BUILD_DIR "/keyturn-harness"

static struct harness_rig rig;

static int set_up(void **state)
{
    (void)state;
    harness_rig_init(&rig, PROGRAM);
    harness_rig_start(&rig);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    harness_rig_release(&rig);
    return 0;
}

static void says_with(const char *files, const char *script, const char *expected)
{
    CLEANUP(free) char *more = xasprintf("\"files\":%s", files);

    assert_string_equal(harness_says_with(&rig, script, 10, more), expected);
}

#define LIST      \
    "import os\n" \
    "emit_result(sorted(os.path.join(d, f)[2:] for d, _, n in os.walk('.') for f in n))"

static void test_they_are_there_and_hold_what_was_sent(void **state)
{
    (void)state;
    says_with("[{\"path\":\"a b/\xc3\xa4/c.bin\",\"base64\":\"AAH+/w==\"},{\"path\":\"empty\",\"base64\":\"\"}]",
              "emit_result([list(open('a b/\xc3\xa4/c.bin', 'rb').read()), open('empty').read()])",
              "result [[0,1,254,255],\"\"]\ndone\n");
}

/* What "import" finds; nothing of it can take the place of a module that Python has. */
static void test_a_script_imports_them(void **state)
{
    (void)state;
    says_with("[{\"path\":\"json.py\",\"base64\":\"MS8w\"},{\"path\":\"pkg/lib.py\",\"base64\":\"eCA9IDQyCg==\"}]",
              "import json, pkg.lib\nemit_result([pkg.lib.x, json.loads('7')])", "result [42,7]\ndone\n");
}

static void test_a_test_suite_runs(void **state)
{
    /* import unittest
     * class T(unittest.TestCase):
     *     def test_one(self): self.assertEqual(1, 2) */
    (void)state;
    says_with("[{\"path\":\"tests/test_t.py\",\"base64\":\""
              "aW1wb3J0IHVuaXR0ZXN0CmNsYXNzIFQodW5pdHRlc3QuVGVzdENhc2UpOgogICAgZGVmIHRlc3Rfb25lKHNlbGYpOiBzZWxmLmFzc2Vy"
              "dEVxdWFsKDEsIDIpCg==\"}]",
              "import unittest\nsuite = unittest.defaultTestLoader.discover('tests')\n"
              "r = unittest.TestResult()\nsuite.run(r)\nemit_result([r.testsRun, len(r.failures), len(r.errors)])",
              "result [1,1,0]\ndone\n");
}

static void test_the_modes_say_that_they_are_copies(void **state)
{
    (void)state;
    says_with("[{\"path\":\"a\",\"base64\":\"\",\"executable\":true},{\"path\":\"b\",\"base64\":\"\"}]",
              "import os\nemit_result([oct(os.stat(n).st_mode & 0o777) for n in 'ab'])",
              "result [\"0o555\",\"0o444\"]\ndone\n");
}

static void test_nothing_is_written_where_something_is(void **state)
{
    (void)state;
    assert_string_equal(harness_says(&rig, "open('a', 'w').write('mine')\nemit_result(1)", 10), "result 1\ndone\n");
    says_with("[{\"path\":\"a\",\"base64\":\"\"}]", "emit_result(2)",
              "error The file a could not be put into the workspace: File exists\ndone\n");
    says_with("[{\"path\":\"a/b\",\"base64\":\"\"}]", "emit_result(2)",
              "error The file a/b could not be put into the workspace: Not a directory\ndone\n");
    assert_string_equal(harness_says(&rig, "emit_result(open('a').read())", 10), "result \"mine\"\ndone\n");
}

static void test_refusals(void **state)
{
    static const struct {
        const char *files, *message;
    } cases[] = {
        {"1", "files must be a list, not number"},
        {"[1]", "files must hold objects with path and base64"},
        {"[{\"path\":\"a\"}]", "files must hold objects with path and base64"},
        {"[{\"path\":\"a\",\"base64\":\"x\"}]", "files: the content of a is no base64"},
        {"[{\"path\":\"/etc/a\",\"base64\":\"\"}]", "files: /etc/a does not lie below the workspace"},
        {"[{\"path\":\"a/../../b\",\"base64\":\"\"}]", "files: a/../../b does not lie below the workspace"},
        {"[{\"path\":\"a//b\",\"base64\":\"\"}]", "files: a//b does not lie below the workspace"},
        {"[{\"path\":\"./b\",\"base64\":\"\"}]", "files: ./b does not lie below the workspace"},
        {"[{\"path\":\"\",\"base64\":\"\"}]", "files:  does not lie below the workspace"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(free) char *expected = xasprintf("error %s\ndone\n", cases[i].message);

        says_with(cases[i].files, "emit_result(1)", expected);
    }
    says_with("null", LIST, "result []\ndone\n");
    says_with("[]", LIST, "result []\ndone\n");
}

static void test_too_many(void **state)
{
    CLEANUP(strbuf) struct strbuf files = STRBUF_INIT;

    (void)state;
    strbuf_addch(&files, '[');
    for (int i = 0; i < 1001; i++)
        strbuf_addf(&files, "%s{\"path\":\"f%d\",\"base64\":\"\"}", i ? "," : "", i);
    strbuf_addch(&files, ']');
    says_with(files.buf, "emit_result(1)", "error files: 1001 are too many (at most 1000)\ndone\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_they_are_there_and_hold_what_was_sent),
        TEST(test_a_script_imports_them),
        TEST(test_a_test_suite_runs),
        TEST(test_the_modes_say_that_they_are_copies),
        TEST(test_nothing_is_written_where_something_is),
        TEST(test_refusals),
        TEST(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
