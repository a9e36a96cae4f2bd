/* What the files of the tools folder declare, and which of them a script sees. */

#include "base/mem.h"
#include "support/harness_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define PROGRAM BUILD_DIR "/keyturn-harness"

static struct harness_rig rig;

static int set_up(void **state)
{
    (void)state;
    harness_rig_init(&rig, PROGRAM);
    scratch_write(&rig.scratch, "tools/a_read.py", "EFFECT = 'READ_ONLY'\ndef look(): return 1\nasync def see(): return 2\n");
    scratch_write(&rig.scratch, "tools/b_plain.py", "def note(): return look() + 2\nLIMIT = 7\n");
    scratch_write(&rig.scratch, "tools/c_net.py", "def fetch(): return 4\nEFFECT = 'NETWORK'\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    harness_rig_release(&rig);
    return 0;
}

static void expect_effects(const char *expected)
{
    CLEANUP(strbuf) struct strbuf effects = STRBUF_INIT;

    json_write(&effects, json_get(rig.ready, "effects"), JSON_COMPACT);
    assert_string_equal(effects.buf, expected);
}

static void says_with(const char *tools, const char *script, const char *expected)
{
    CLEANUP(free) char *more = xasprintf("\"tools\":%s", tools);

    assert_string_equal(harness_says_with(&rig, script, 10, more), expected);
}

static void test_a_file_declares_for_all_its_functions(void **state)
{
    (void)state;
    harness_rig_start(&rig);
    expect_effects("{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"LOCAL_WRITE\",\"fetch\":\"NETWORK\"}");
    assert_string_equal(harness_says(&rig, "emit_result('EFFECT' in globals())", 10), "result false\ndone\n");
}

static void test_a_declaration_that_is_none_counts_as_the_strongest(void **state)
{
    const struct json *event;

    (void)state;
    scratch_write(&rig.scratch, "tools/b_plain.py", "EFFECT = 'HARMLESS'\ndef note(): pass\n");
    harness_rig_start(&rig);
    expect_effects("{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"DESTRUCTIVE\",\"fetch\":\"NETWORK\"}");
    event = harness_rig_event(&rig);
    assert_non_null(strstr(json_str(json_get(event, "message"), ""),
                           "b_plain.py: EFFECT is 'HARMLESS', none of READ_ONLY, LOCAL_WRITE, NETWORK, DESTRUCTIVE"));
}

#define THERE "emit_result([n for n in ('look', 'see', 'note', 'fetch', 'LIMIT', 'emit_log') if n in globals()])"

static void test_a_script_sees_the_tools_it_named(void **state)
{
    (void)state;
    harness_rig_start(&rig);
    says_with("null", THERE, "result [\"look\",\"see\",\"note\",\"fetch\",\"LIMIT\",\"emit_log\"]\ndone\n");
    says_with("[\"note\"]", THERE, "result [\"note\",\"LIMIT\",\"emit_log\"]\ndone\n");
    says_with("[\"note\"]", "emit_result(note())", "result 3\ndone\n"); /* tools see each other */
    says_with("[]", THERE, "result [\"LIMIT\",\"emit_log\"]\ndone\n");
    says_with("[]", "fetch()", "error NameError: name 'fetch' is not defined\ndone\n");
    assert_string_equal(harness_says(&rig, "emit_result(fetch())", 10), "result 4\ndone\n");
}

static void test_refusals(void **state)
{
    (void)state;
    harness_rig_start(&rig);
    says_with("[\"look\",\"burn\"]", "emit_result(1)",
              "error There is no tool burn (there are: look, see, note, fetch)\ndone\n");
    says_with("[\"LIMIT\"]", "emit_result(1)", "error There is no tool LIMIT (there are: look, see, note, fetch)\ndone\n");
    says_with("\"look\"", "emit_result(1)", "error tools must be a list of names, not string\ndone\n");
    says_with("[1]", "emit_result(1)", "error tools must hold names of tools\ndone\n");
}

static void test_no_folder_no_effects(void **state)
{
    (void)state;
    scratch_remove(&rig.scratch, "tools");
    harness_rig_start(&rig);
    expect_effects("{}");
    says_with("[]", "emit_result(1)", "result 1\ndone\n");
}

/* The next event is what is told of this file, and holds the text. */
static void expect_note(const char *file, const char *text)
{
    const struct json *event = harness_rig_event(&rig);
    const char *message = json_str(json_get(event, "message"), "");

    assert_string_equal(json_str(json_get(event, "level"), ""), "error");
    if (!strstr(message, file) || !strstr(message, text))
        fail_msg("%s: expected %s, %s", message, file, text);
}

#define ALL_EFFECTS "{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"LOCAL_WRITE\",\"fetch\":\"NETWORK\"}"

/* Whatever a file does while it is loaded, the others are there, and somebody says which it was. */
static void test_a_file_that_ends_the_loading_is_left_out(void **state)
{
    (void)state;
    scratch_write(&rig.scratch, "tools/a_0.py", "def gone(): pass\nimport os\nprint('x' * 20000)\nos._exit(3)\n");
    scratch_write(
        &rig.scratch, "tools/b_1.py",
        "import os, signal\nsignal.signal(signal.SIGSEGV, signal.SIG_DFL)\nos.kill(os.getpid(), signal.SIGSEGV)\n");
    scratch_write(&rig.scratch, "tools/b_2.py", "1/0\n");
    scratch_write(&rig.scratch, "tools/c_\xff\\\n.py", "import os\nos._exit(0)\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/a_0.py", "ended with status 3; it is left out");
    expect_note("/b_1.py", "was ended by signal 11 (SIGSEGV); it is left out");
    expect_note("/c_", "ended with status 0; it is left out");
    expect_note("/b_2.py", "ZeroDivisionError");
    assert_string_equal(harness_says(&rig, "emit_result(note())", 10), "result 3\ndone\n");
}

static void test_a_file_that_does_not_end_is_left_out(void **state)
{
    (void)state;
    scratch_write(&rig.scratch, "tools/a_0.py", "while True: pass\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/a_0.py", "it was not loaded within 10 s; it is left out");
    assert_string_equal(harness_says(&rig, "emit_result(note())", 10), "result 3\ndone\n");
}

static void test_only_plain_files_are_tools(void **state)
{
    CLEANUP(free) char *pipe = scratch_path(&rig.scratch, "tools/a_pipe.py");

    (void)state;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    scratch_write(&rig.scratch, "tools/.hidden.py", "def hidden(): pass\n");
    scratch_write(&rig.scratch, "tools/folder.py/x.py", "def inner(): pass\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/a_pipe.py", "not a regular file");
    expect_note("/folder.py", "not a regular file");
    assert_string_equal(harness_says(&rig, "emit_result('hidden' in globals())", 10), "result false\ndone\n");
}

static void test_files_can_be_left_out_by_name(void **state)
{
    CLEANUP(free) char *path = scratch_path(&rig.scratch, "tools/c_net.py");

    (void)state;
    rig.options[0] = "--leave-out";
    rig.options[1] = path;
    harness_rig_start(&rig);
    expect_effects("{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"LOCAL_WRITE\"}");
    assert_string_equal(harness_says(&rig, "emit_result(1)", 10), "result 1\ndone\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_declares_for_all_its_functions),
        TEST(test_a_declaration_that_is_none_counts_as_the_strongest),
        TEST(test_a_script_sees_the_tools_it_named),
        TEST(test_refusals),
        TEST(test_no_folder_no_effects),
        TEST(test_a_file_that_ends_the_loading_is_left_out),
        TEST(test_a_file_that_does_not_end_is_left_out),
        TEST(test_only_plain_files_are_tools),
        TEST(test_files_can_be_left_out_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
