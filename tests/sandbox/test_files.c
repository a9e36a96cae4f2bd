/* Tests files that come with a request: their folder, what a script can do with them, and which are refused. */

#include "base/mem.h"
#include "support/harness_rig.h"
#include "support/test.h"
#include <string.h>

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

TEST_WITH(files_arrive_with_the_content_that_was_sent, set_up, tear_down)
{
    says_with("[{\"path\":\"a b/\xc3\xa4/c.bin\",\"base64\":\"AAH+/w==\"},{\"path\":\"empty\",\"base64\":\"\"}]",
              "emit_result([list(open('a b/\xc3\xa4/c.bin', 'rb').read()), open('empty').read()])",
              "result [[0,1,254,255],\"\"]\ndone\n");
}

/* Files that "import" finds; none of them can replace a module of Python. */
TEST_WITH(scripts_can_import_files, set_up, tear_down)
{
    says_with("[{\"path\":\"json.py\",\"base64\":\"MS8w\"},{\"path\":\"pkg/lib.py\",\"base64\":\"eCA9IDQyCg==\"}]",
              "import json, pkg.lib\nemit_result([pkg.lib.x, json.loads('7')])", "result [42,7]\ndone\n");
}

TEST_WITH(a_test_suite_runs, set_up, tear_down)
{
    /* import unittest
     * class T(unittest.TestCase):
     *     def test_one(self): self.assertEqual(1, 2) */
    says_with("[{\"path\":\"tests/test_t.py\",\"base64\":\""
              "aW1wb3J0IHVuaXR0ZXN0CmNsYXNzIFQodW5pdHRlc3QuVGVzdENhc2UpOgogICAgZGVmIHRlc3Rfb25lKHNlbGYpOiBzZWxmLmFzc2Vy"
              "dEVxdWFsKDEsIDIpCg==\"}]",
              "import unittest\nsuite = unittest.defaultTestLoader.discover('tests')\n"
              "r = unittest.TestResult()\nsuite.run(r)\nemit_result([r.testsRun, len(r.failures), len(r.errors)])",
              "result [1,1,0]\ndone\n");
}

TEST_WITH(sent_files_are_read_only, set_up, tear_down)
{
    says_with("[{\"path\":\"a\",\"base64\":\"\",\"executable\":true},{\"path\":\"b\",\"base64\":\"\"}]",
              "import os\nemit_result([oct(os.stat(n).st_mode & 0o777) for n in 'ab'])",
              "result [\"0o555\",\"0o444\"]\ndone\n");
}

TEST_WITH(existing_files_are_not_replaced, set_up, tear_down)
{
    assert_string_equal(harness_says(&rig, "open('a', 'w').write('mine')\nemit_result(1)", 10), "result 1\ndone\n");
    says_with("[{\"path\":\"a\",\"base64\":\"\"}]", "emit_result(2)",
              "error Cannot write the file a into the workspace: File exists\ndone\n");
    says_with("[{\"path\":\"a/b\",\"base64\":\"\"}]", "emit_result(2)",
              "error Cannot write the file a/b into the workspace: Not a directory\ndone\n");
    assert_string_equal(harness_says(&rig, "emit_result(open('a').read())", 10), "result \"mine\"\ndone\n");
}

TEST_WITH(wrong_file_lists_are_refused, set_up, tear_down)
{
    static const struct {
        const char *files, *message;
    } cases[] = {
        {"1", "files must be a list, not number"},
        {"[1]", "files must be a list of objects with path and base64"},
        {"[{\"path\":\"a\"}]", "files must be a list of objects with path and base64"},
        {"[{\"path\":\"a\",\"base64\":\"x\"}]", "files: the content of a is not base64"},
        {"[{\"path\":\"/etc/a\",\"base64\":\"\"}]", "files: /etc/a does not lie below the workspace"},
        {"[{\"path\":\"a/../../b\",\"base64\":\"\"}]", "files: a/../../b does not lie below the workspace"},
        {"[{\"path\":\"a//b\",\"base64\":\"\"}]", "files: a//b does not lie below the workspace"},
        {"[{\"path\":\"./b\",\"base64\":\"\"}]", "files: ./b does not lie below the workspace"},
        {"[{\"path\":\"\",\"base64\":\"\"}]", "files:  does not lie below the workspace"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CLEANUP(free) char *expected = xasprintf("error %s\ndone\n", cases[i].message);
        says_with(cases[i].files, "emit_result(1)", expected);
    }
    says_with("null", LIST, "result []\ndone\n");
    says_with("[]", LIST, "result []\ndone\n");
}

TEST_WITH(too_many_files_are_refused, set_up, tear_down)
{
    CLEANUP(strbuf) struct strbuf files = STRBUF_INIT;
    strbuf_addch(&files, '[');
    for (int i = 0; i < 1001; i++)
        strbuf_addf(&files, "%s{\"path\":\"f%d\",\"base64\":\"\"}", i ? "," : "", i);
    strbuf_addch(&files, ']');
    says_with(files.buf, "emit_result(1)", "error files: 1001 are too many (at most 1000)\ndone\n");
}
