/* Tests what the files of the tools folder declare, and which of them a script sees. */

#include "base/mem.h"
#include "support/harness_rig.h"
#include "support/test.h"
#include <string.h>
#include <sys/stat.h>

#define PROGRAM BUILD_DIR "/keyturn-harness"

static struct harness_rig rig;

static int set_up(void **state)
{
    (void)state;
    harness_rig_init(&rig, PROGRAM);
    scratch_write(&rig.scratch, "tools/a_read.py",
                  "EFFECT = 'READ_ONLY'\ndef look(): return 1\nasync def see(): return 2\n");
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

TEST_WITH(a_file_declares_for_all_its_functions, set_up, tear_down)
{
    harness_rig_start(&rig);
    expect_effects("{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"LOCAL_WRITE\",\"fetch\":\"NETWORK\"}");
    assert_string_equal(harness_says(&rig, "emit_result('EFFECT' in globals())", 10), "result false\ndone\n");
}

TEST_WITH(an_invalid_declaration_counts_as_the_strongest, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/b_plain.py", "EFFECT = 'HARMLESS'\ndef note(): pass\n");
    harness_rig_start(&rig);
    expect_effects("{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"DESTRUCTIVE\",\"fetch\":\"NETWORK\"}");
    const struct json *event = harness_rig_event(&rig);
    assert_non_null(strstr(json_str(json_get(event, "message"), ""),
                           "b_plain.py: EFFECT is 'HARMLESS', none of READ_ONLY, LOCAL_WRITE, NETWORK, DESTRUCTIVE"));
}

#define THERE "emit_result([n for n in ('look', 'see', 'note', 'fetch', 'LIMIT', 'emit_log') if n in globals()])"

TEST_WITH(a_script_sees_the_tools_it_named, set_up, tear_down)
{
    harness_rig_start(&rig);
    says_with("null", THERE, "result [\"look\",\"see\",\"note\",\"fetch\",\"LIMIT\",\"emit_log\"]\ndone\n");
    says_with("[\"note\"]", THERE, "result [\"note\",\"LIMIT\",\"emit_log\"]\ndone\n");
    says_with("[\"note\"]", "emit_result(note())", "result 3\ndone\n"); /* tools see each other */
    says_with("[]", THERE, "result [\"LIMIT\",\"emit_log\"]\ndone\n");
    says_with("[]", "fetch()", "error NameError: name 'fetch' is not defined\ndone\n");
    assert_string_equal(harness_says(&rig, "emit_result(fetch())", 10), "result 4\ndone\n");
}

TEST_WITH(wrong_tool_lists_are_refused, set_up, tear_down)
{
    harness_rig_start(&rig);
    says_with("[\"look\",\"burn\"]", "emit_result(1)",
              "error There is no tool burn (known: look, see, note, fetch)\ndone\n");
    says_with("[\"LIMIT\"]", "emit_result(1)", "error There is no tool LIMIT (known: look, see, note, fetch)\ndone\n");
    says_with("\"look\"", "emit_result(1)", "error tools must be a list of names, not string\ndone\n");
    says_with("[1]", "emit_result(1)", "error tools must hold names of tools\ndone\n");
}

TEST_WITH(without_a_folder_scripts_have_no_effects, set_up, tear_down)
{
    scratch_remove(&rig.scratch, "tools");
    harness_rig_start(&rig);
    expect_effects("{}");
    says_with("[]", "emit_result(1)", "result 1\ndone\n");
}

/* Expects that the next event is about this file and contains the text. */
static void expect_note(const char *file, const char *text)
{
    const struct json *event = harness_rig_event(&rig);
    const char *message = json_str(json_get(event, "message"), "");
    assert_string_equal(json_str(json_get(event, "level"), ""), "error");
    if (!strstr(message, file) || !strstr(message, text))
        fail_msg("%s: expected %s, %s", message, file, text);
}

#define ALL_EFFECTS "{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"LOCAL_WRITE\",\"fetch\":\"NETWORK\"}"

/* A file that fails while it is loaded does not hide the others, and the message names it. */
TEST_WITH(a_file_that_exits_while_loading_is_left_out, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/a_0.py", "def gone(): pass\nimport os\nprint('x' * 20000)\nos._exit(3)\n");
    scratch_write(
        &rig.scratch, "tools/b_1.py",
        "import os, signal\nsignal.signal(signal.SIGSEGV, signal.SIG_DFL)\nos.kill(os.getpid(), signal.SIGSEGV)\n");
    scratch_write(&rig.scratch, "tools/b_2.py", "1/0\n");
    scratch_write(&rig.scratch, "tools/c_\xff\\\n.py", "import os\nos._exit(0)\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/a_0.py", "ended with status 3; ignored");
    expect_note("/b_1.py", "was killed by signal 11 (SIGSEGV); ignored");
    expect_note("/c_", "ended with status 0; ignored");
    expect_note("/b_2.py", "ZeroDivisionError");
    assert_string_equal(harness_says(&rig, "emit_result(note())", 10), "result 3\ndone\n");
}

TEST_WITH(a_file_that_hangs_while_loading_is_left_out, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/a_0.py", "while True: pass\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/a_0.py", "it was not loaded within 10 s; ignored");
    assert_string_equal(harness_says(&rig, "emit_result(note())", 10), "result 3\ndone\n");
}

TEST_WITH(only_plain_files_are_tools, set_up, tear_down)
{
    CLEANUP(free) char *pipe = scratch_path(&rig.scratch, "tools/a_pipe.py");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    scratch_write(&rig.scratch, "tools/.hidden.py", "def hidden(): pass\n");
    scratch_write(&rig.scratch, "tools/folder.py/x.py", "def inner(): pass\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/a_pipe.py", "not a regular file");
    expect_note("/folder.py", "not a regular file");
    assert_string_equal(harness_says(&rig, "emit_result('hidden' in globals())", 10), "result false\ndone\n");
}

TEST_WITH(files_can_be_left_out_by_name, set_up, tear_down)
{
    CLEANUP(free) char *path = scratch_path(&rig.scratch, "tools/c_net.py");
    rig.options[0] = "--leave-out";
    rig.options[1] = path;
    harness_rig_start(&rig);
    expect_effects("{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"LOCAL_WRITE\"}");
    assert_string_equal(harness_says(&rig, "emit_result(1)", 10), "result 1\ndone\n");
}

/* A function is rated by the file that defines it, and a file by the strongest effect that it can reach: a file that
 * imports a destructive one, now or in a call, or only names it, is destructive. */
TEST_WITH(effects_of_imported_files_count, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/d_wipe.py",
                  "EFFECT = 'DESTRUCTIVE'\ndef wipe(): return 'wiped'\nclass Wiper: pass\n");
    scratch_write(&rig.scratch, "tools/b_plain.py",
                  "from d_wipe import wipe\nEFFECT = 'READ_ONLY'\ndef note(): return 3\n");
    scratch_write(&rig.scratch, "tools/e_more.py",
                  "EFFECT = 'READ_ONLY'\nimport b_plain as b\ndef far(): return b.note()\n");
    scratch_write(&rig.scratch, "tools/f_late.py",
                  "EFFECT = 'READ_ONLY'\ndef late():\n    import d_wipe\n    return d_wipe.wipe()\n");
    scratch_write(&rig.scratch, "tools/g_named.py", "EFFECT = 'READ_ONLY'\ndef named(): return wipe()\n");
    scratch_write(&rig.scratch, "tools/h_other.py",
                  "EFFECT = 'READ_ONLY'\nfrom a_read import *\nimport functools, d_wipe\n"
                  "clean = functools.partial(d_wipe.wipe)\n");
    scratch_write(&rig.scratch, "tools/i_apart.py", "EFFECT = 'READ_ONLY'\ndef apart(wipe=1): return wipe\n");
    scratch_write(&rig.scratch, "tools/j_star.py", "from a_read import *\ndef star(): return look()\n");
    harness_rig_start(&rig);
    expect_effects("{\"look\":\"READ_ONLY\",\"see\":\"READ_ONLY\",\"note\":\"DESTRUCTIVE\",\"fetch\":\"NETWORK\","
                   "\"wipe\":\"DESTRUCTIVE\",\"far\":\"DESTRUCTIVE\",\"late\":\"DESTRUCTIVE\","
                   "\"named\":\"DESTRUCTIVE\",\"clean\":\"DESTRUCTIVE\",\"apart\":\"READ_ONLY\","
                   "\"star\":\"LOCAL_WRITE\"}");
    assert_string_equal(harness_says(&rig, "emit_result([wipe(), far(), late(), named(), clean(), star()])", 10),
                        "result [\"wiped\",3,\"wiped\",\"wiped\",\"wiped\",1]\ndone\n");
    says_with("[\"note\"]", "wipe()", "error NameError: name 'wipe' is not defined\ndone\n");
    says_with("[\"look\"]", "emit_result([n for n in ('b', 'd_wipe', 'clean', 'Wiper') if n in globals()])",
              "result []\ndone\n");
    says_with("[\"wipe\"]", "emit_result(Wiper.__name__)", "result \"Wiper\"\ndone\n");
}

#define NO_IMPORT \
    "error ModuleNotFoundError: d_wipe is a file of tools: tools are in scope already, without an import\ndone\n"

TEST_WITH(a_script_cannot_import_a_file_of_tools, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/d_wipe.py", "EFFECT = 'DESTRUCTIVE'\ndef wipe(): return 'wiped'\n");
    scratch_write(&rig.scratch, "tools/e_user.py", "import d_wipe, lib.part\ndef part(): return lib.part.SIZE\n");
    scratch_write(&rig.scratch, "tools/f_lazy.py", "def lazy():\n    import other.part\n    return other.part.SIZE\n");
    scratch_write(&rig.scratch, "tools/lib/part.py", "SIZE = 5\n");
    scratch_write(&rig.scratch, "tools/other/part.py", "SIZE = 6\n");
    scratch_write(&rig.scratch, "tools/json.py", "def mine(): return 7\n");
    harness_rig_start(&rig);
    says_with("[\"look\"]", "import d_wipe; emit_result(d_wipe.wipe())", NO_IMPORT);
    says_with("null", "import importlib; importlib.import_module('d_wipe')", NO_IMPORT);
    says_with("[]", "import sys; emit_result([n for n in sys.modules if 'wipe' in n])", "result []\ndone\n");
    says_with("[\"look\"]",
              "open('d_wipe.py', 'w').write('x = 1'); import sys; sys.path.append('.')\n"
              "import d_wipe; emit_result(d_wipe.x)",
              "result 1\ndone\n"); /* with a tool of its own */
    says_with("null", "import json; emit_result([part(), lazy(), mine(), json.loads('8')])",
              "result [5,6,7,8]\ndone\n");
}

TEST_WITH(an_imported_coroutine_needs_no_await, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/d_fine.py", "import e_user\nasync def fine(): return 5\n");
    scratch_write(&rig.scratch, "tools/e_user.py", "import d_fine\ndef twice(): return d_fine.fine() * 2\n");
    scratch_write(&rig.scratch, "tools/f_user.py",
                  "from d_fine import fine, fine as good\ndef more(): return fine() + 1\n");
    harness_rig_start(&rig);
    assert_string_equal(harness_says(&rig, "emit_result([fine(), twice(), more(), good()])", 10),
                        "result [5,10,6,5]\ndone\n");
}

/* A waiting request gets the error, and the next one is served. */
TEST_WITH(an_exit_in_a_coroutine_reaches_its_caller, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/d_exit.py",
                  "import asyncio, sys\n"
                  "async def leave(): sys.exit(3)\n"
                  "async def stop(): raise KeyboardInterrupt('enough')\n"
                  "async def task(): await asyncio.create_task(_deep())\n"
                  "async def _deep(): sys.exit(4)\n");
    harness_rig_start(&rig);
    assert_string_equal(harness_says(&rig, "leave()", 60), "error Script tried to exit (code 3)\ndone\n");
    assert_string_equal(harness_says(&rig, "stop()", 60), "error KeyboardInterrupt: enough\ndone\n");
    assert_string_equal(harness_says(&rig, "task()", 60), "error Script tried to exit (code 4)\ndone\n");
    assert_string_equal(harness_says(&rig, "try: leave()\nexcept SystemExit: emit_result(see())", 60),
                        "result 2\ndone\n");
}

TEST_WITH(a_file_that_fails_adds_no_tools, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/d_fails.py", "def look(): return 'other'\ndef early(): pass\n1/0\n");
    scratch_write(&rig.scratch, "tools/e_user.py", "import d_fails\ndef never(): pass\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/d_fails.py", "ZeroDivisionError");
    expect_note("/e_user.py", "d_fails: this file of tools could not be loaded");
    assert_string_equal(harness_says(&rig, "emit_result([look(), 'early' in globals()])", 10),
                        "result [1,false]\ndone\n");
}

/* The message names the file that ends the process, not the file that it had just imported. */
TEST_WITH(an_importer_that_exits_while_loading_is_left_out, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/a_0.py", "import b_plain, os\nos._exit(3)\n");
    scratch_write(&rig.scratch, "tools/d_user.py", "import a_0\n");
    harness_rig_start(&rig);
    expect_effects(ALL_EFFECTS);
    expect_note("/a_0.py", "ended with status 3; ignored");
    expect_note("/d_user.py", "a_0: this tool file was skipped; its load error is in the log");
}
