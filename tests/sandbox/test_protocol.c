/* Tests the messages of the harness: ready, the events of a run, and answers to requests that cannot run. */

#include "base/mem.h"
#include "support/harness_rig.h"
#include "support/test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM BUILD_DIR "/keyturn-harness"

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

static void says(const char *script, const char *expected)
{
    assert_string_equal(harness_says(&rig, script, 10), expected);
}

static void fails(const char *script, const char *part)
{
    const char *said = harness_says(&rig, script, 10);
    if (strncmp(said, "error ", 6) != 0 || !strstr(said, part) || !strstr(said, "\ndone\n"))
        fail_msg("%s\nsaid: %s\nbut not: %s", script, said, part);
}

/* A line that is no valid request, or not one of harness_says. */
static const char *answer(const char *line)
{
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    const struct json *event;
    harness_rig_send(&rig, line, strlen(line));
    do {
        event = harness_rig_event(&rig);
        assert_non_null(event);
        strbuf_addf(&told, "%s ", json_str(json_get(event, "execution_id"), "null"));
        harness_tell(&told, event);
    } while (strcmp(json_str(json_get(event, "type"), ""), "script_done") != 0);
    return arena_memdup0(&rig.arena, told.buf, told.len);
}

TEST_WITH(ready_names_tools_process_and_layers, set_up, tear_down)
{
    CLEANUP(strbuf) struct strbuf tools = STRBUF_INIT;
    scratch_write(&rig.scratch, "tools/b.py", "def second(): pass\ndef _own(): pass\nLIMIT = 3\nclass Kind: pass\n");
    scratch_write(&rig.scratch, "tools/a.py", "from os.path import join\nasync def first(): pass\n");
    scratch_write(&rig.scratch, "tools/notes.txt", "def no(): pass\n");
    harness_rig_start(&rig);
    json_write(&tools, json_get(rig.ready, "tools"), JSON_COMPACT);
    assert_string_equal(tools.buf, "[\"first\",\"second\"]");
    assert_int_equal(json_int(json_get(rig.ready, "pid"), 0), rig.elsewhere ? 1 : rig.pid);
    assert_true(json_bool(json_get(rig.ready, "ordered"), false));
    assert_null(json_get(rig.ready, "execution_id"));
    const struct json *sandbox = json_get(rig.ready, "sandbox");
    assert_true(json_bool(json_get(sandbox, "no_new_privs"), false));
    assert_true(json_bool(json_get(sandbox, "rlimits"), false));
    assert_true(json_bool(json_get(sandbox, "seccomp"), false));
    assert_true(json_int(json_get(sandbox, "landlock"), 0) > 0);
    assert_null(harness_rig_event_within(&rig, 50));
    assert_int_equal(harness_rig_end(&rig), 0);
}

TEST_WITH(disabled_layers_are_reported, set_up, tear_down)
{
    rig.options[0] = "--no-seccomp";
    rig.options[1] = "--no-landlock";
    rig.options[2] = "--no-rlimits";
    harness_rig_start(&rig);
    const struct json *sandbox = json_get(rig.ready, "sandbox");
    assert_false(json_bool(json_get(sandbox, "seccomp"), true));
    assert_false(json_bool(json_get(sandbox, "rlimits"), true));
    assert_int_equal(json_int(json_get(sandbox, "landlock"), 7), 0);
    says("emit_result(1)", "result 1\ndone\n");
}

TEST_WITH(events_come_in_the_order_they_were_made_in, set_up, tear_down)
{
    harness_rig_start(&rig);
    says("emit_log('a'); emit_intermediate('p', 1); emit_result({'k': 1})",
         "log info a\nintermediate p 1\nresult {\"k\":1}\ndone\n");
    says("import sys\n"
         "print('one'); emit_log('two', level='warning'); print('three', file=sys.stderr)\n"
         "print('four', end=''); emit_intermediate('five', None); print('six')\n",
         "log stdout one\nlog warning two\nlog stderr three\nlog stdout four\nintermediate five null\nlog stdout "
         "six\ndone\n");
    /* through any of the ways to write to a stream */
    says("import io, sys\n"
         "sys.stdout.write('a'); emit_log('1'); sys.stdout.buffer.write(b'b'); emit_log('2')\n"
         "sys.stderr.writelines(['c', 'd']); emit_intermediate('3', 3); sys.__stdout__.write('e'); emit_log('4')\n"
         "io.TextIOWrapper(sys.stdout.buffer, write_through=True).write('f'); emit_result(5)\n",
         "log stdout a\nlog info 1\nlog stdout b\nlog info 2\nlog stderr cd\nintermediate 3 3\nlog stdout e\nlog info "
         "4\nlog stdout f\nresult 5\ndone\n");
    says("emit_result(1); emit_result(2)", "result 1\nresult 2\ndone\n");
    says("x = 1", "done\n");
    says("", "done\n");
}

TEST_WITH(each_script_starts_with_a_fresh_state, set_up, tear_down)
{
    harness_rig_start(&rig);
    says("leak = 41; import builtins, os, sys; builtins.len = None; os.environ['X'] = '1'; sys.modules['json'] = None; "
         "emit_result = None",
         "done\n");
    says("import os, json; emit_result(['leak' in globals(), len('abc'), 'X' in os.environ, __name__, json.dumps(1)])",
         "result [false,3,false,\"__main__\",\"1\"]\ndone\n");
}

TEST_WITH(files_are_utf8, set_up, tear_down)
{
    harness_rig_start(&rig);
    says("open('a', 'w').write('\\u00e9\\u20ac'); emit_result(open('a', 'rb').read().hex() + ascii(open('a').read()))",
         "result \"c3a9e282ac'\\\\xe9\\\\u20ac'\"\ndone\n");
}

TEST_WITH(tools_are_called_like_functions, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/a.py",
                  "import asyncio\n"
                  "async def fetch(x, *, more=0):\n"
                  "    await asyncio.sleep(0)\n"
                  "    return ToolResult(True, {'x': x + more}, 'found')\n"
                  "async def fails():\n"
                  "    raise LookupError('lost')\n"
                  "def plain(x):\n"
                  "    emit_log('plain')\n"
                  "    return fetch(x).data['x'] + _one()\n"
                  "def _one(): return 1\n");
    scratch_write(&rig.scratch, "tools/b.py",
                  "async def both(x):\n"
                  "    return (await fetch(x)).data['x'] + (await fetch(x, more=1)).data['x']\n");
    harness_rig_start(&rig);
    says("r = fetch(3); emit_result([r.success, r.data, r.message, bool(r)])",
         "result [true,{\"x\":3},\"found\",true]\ndone\n");
    says("emit_result(fetch(1))", "result {\"success\":true,\"data\":{\"x\":1},\"message\":\"found\"}\ndone\n");
    says("emit_result([plain(1), both(2)])", "log info plain\nresult [2,5]\ndone\n");
    says("import asyncio\nasync def main():\n    emit_result(fetch(9))\nasyncio.run(main())",
         "error TypeError: emit_result: data is a coroutine (await the tool, because an event loop is "
         "running), which JSON cannot hold\ndone\n");
    says("import asyncio\nasync def main():\n    emit_result((await fetch(9)).data['x'])\nasyncio.run(main())",
         "result 9\ndone\n");
    says("try:\n    fails()\nexcept LookupError as e:\n    emit_result(str(e))", "result \"lost\"\ndone\n");
    fails("fails()", "LookupError: lost");
    assert_non_null(strstr(rig.traceback, "tools/a.py\", line 6, in fails"));
    says("emit_result('_one' in globals())", "result false\ndone\n");
}

TEST_WITH(coroutines_in_disguise_need_no_await, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/a.py",
                  "import functools\n"
                  "def marked(f):\n"
                  "    @functools.wraps(f)\n"
                  "    def wrapper(*args):\n"
                  "        return f(*args)\n"
                  "    return wrapper\n"
                  "def unmarked(f):\n"
                  "    return lambda *args: f(*args)\n"
                  "@marked\n"
                  "async def wrapped(x): return x + 1\n"
                  "@unmarked\n"
                  "async def hidden(x): return x + 2\n"
                  "async def _add(a, b): return a + b\n"
                  "three = functools.partial(_add, 3)\n"
                  "class Kind:\n"
                  "    size = 4\n"
                  "    async def __call__(self, x): return x + self.size\n"
                  "called = Kind()\n"
                  "EARLY = wrapped(1)\n"
                  "def plain(): return wrapped(10)\n");
    scratch_write(&rig.scratch, "tools/b.py", "import asyncio\nEARLY = asyncio.run(EARLY)\n");
    harness_rig_start(&rig);
    says("emit_result([wrapped(0), hidden(0), three(0), called(0), called.size, plain(), EARLY])",
         "result [1,2,3,4,4,11,2]\ndone\n");
    says("import asyncio\nasync def main():\n    emit_result(await wrapped(1) + await three(1) + await called(1))\n"
         "asyncio.run(main())",
         "result 11\ndone\n");
}

TEST_WITH(threads_left_by_tools_are_reported_and_not_awaited, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/pool.py",
                  "from concurrent.futures import ThreadPoolExecutor\n"
                  "P = ThreadPoolExecutor(2)\n"
                  "def quick(): return list(P.map(str, range(2)))\n"
                  "import time\n"
                  "list(P.map(time.sleep, (0.05, 0.05)))\n");
    scratch_write(&rig.scratch, "tools/quiet.py",
                  "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\n");
    harness_rig_start(&rig);
    const struct json *event = harness_rig_event(&rig);
    assert_string_equal(json_str(json_get(event, "level"), ""), "warning");
    assert_non_null(strstr(json_str(json_get(event, "message"), ""), "tools/pool.py: leaves 2 threads running"));
    event = harness_rig_event(&rig); /* the output of the other one */
    assert_string_equal(json_str(json_get(event, "level"), ""), "stdout");
    says("emit_result(1)", "result 1\ndone\n");
    says("import threading\nemit_result(threading.active_count())", "result 1\ndone\n");
}

/* Printed by a tool while it was loaded. */
static void expect_note(const char *message)
{
    const struct json *event = harness_rig_event(&rig);
    assert_non_null(event);
    assert_int_equal(json_get(event, "execution_id")->type, JSON_NULL);
    assert_string_equal(json_str(json_get(event, "message"), ""), message);
}

TEST_WITH(a_request_waits_a_bounded_time_for_a_child, set_up, tear_down)
{
    scratch_write(&rig.scratch, "tools/block.py",
                  "import os, threading, time\n"
                  "print('seen' if os.path.exists('seen') else 'new')\n"
                  "if not os.path.exists('seen'):\n"
                  "    open('seen', 'w').close()\n"
                  "    threading.stack_size = lambda size: time.sleep(1000)\n");
    harness_rig_start(&rig);
    expect_note("new");
    fails("emit_result(1)", "The harness started no process for the script in time");
    expect_note("seen"); /* another replaced the blocked one, and repeats the output of its tools */
    says("emit_result(1)", "result 1\ndone\n");
}

TEST_WITH(a_broken_tool_file_is_reported_and_the_others_load, set_up, tear_down)
{
    static const char *const told[] = {"a_syntax.py", "SyntaxError", "b_exit.py",
                                       "exit",        "c_raises.py", "ZeroDivisionError"};
    CLEANUP(strbuf) struct strbuf logs = STRBUF_INIT;
    scratch_write(&rig.scratch, "tools/a_syntax.py", "def (");
    scratch_write(&rig.scratch, "tools/b_exit.py", "import sys; sys.exit(1)");
    scratch_write(&rig.scratch, "tools/c_raises.py", "def early(): return 1\n1/0\ndef late(): pass\n");
    scratch_write(&rig.scratch, "tools/d_prints.py", "print('hello from a tool')\ndef f(): return early()\n");
    harness_rig_start(&rig);
    for (int i = 0; i < 4; i++) {
        const struct json *event = harness_rig_event(&rig);
        assert_string_equal(json_str(json_get(event, "type"), ""), "log");
        assert_int_equal(json_get(event, "execution_id")->type, JSON_NULL);
        harness_tell(&logs, event);
    }
    for (size_t i = 0; i < COUNT_OF(told); i++)
        assert_non_null(strstr(logs.buf, told[i]));
    assert_non_null(strstr(logs.buf, "log stdout hello from a tool"));
    says("emit_result(f())", "error NameError: name 'early' is not defined\ndone\n");
}

TEST_WITH(a_missing_tools_folder_is_reported, set_up, tear_down)
{
    scratch_remove(&rig.scratch, "tools");
    harness_rig_start(&rig);
    assert_int_equal(json_get(rig.ready, "tools")->count, 0);
    assert_non_null(strstr(json_str(json_get(rig.ready, "no_tools"), ""), "No such file"));
    says("emit_result(1)", "result 1\ndone\n");
}

TEST_WITH(values_are_json_or_named, set_up, tear_down)
{
    harness_rig_start(&rig);
    says("emit_result([True, None, 1.5, 12345678901234567890123, (1, 2), {'ключ': 'знач'}, ''])",
         "result [true,null,1.5,12345678901234567890123,[1,2],{\"ключ\":\"знач\"},\"\"]\ndone\n");
    says("emit_result({1: 'a', None: 'b', True: 'c', 2.5: 'd'})",
         "result {\"1\":\"c\",\"null\":\"b\",\"2.5\":\"d\"}\ndone\n");
    says("emit_result('a\\0b\\ud800c\\n\\u2028')", "result \"a\xef\xbf\xbd"
                                                   "b\xef\xbf\xbd"
                                                   "c\\n\xe2\x80\xa8\"\ndone\n");
    says("x = []\nfor i in range(63): x = [x]\nemit_result(x == None)\nemit_intermediate('deep', x)\n",
         "result false\nintermediate deep [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\ndone\n");
    fails("emit_result({'a': [1, {2, 3}]})", "TypeError: emit_result: data['a'][1] is of type set");
    fails("emit_result({'a': object()})", "data['a'] is of type object");
    fails("emit_intermediate('x', {(1, 2): 3})", "emit_intermediate: data has a key of type tuple");
    fails("emit_result([float('nan')])", "ValueError: emit_result: data[0] is nan");
    fails("emit_result({float('inf'): 1})", "the key inf");
    fails("emit_result(float('-inf'))", "data is -inf");
    fails("emit_result(10 ** 5000)", "data is an integer of more than 4300 digits");
    fails("a = []; a.append(a); emit_result(a)", "data[0] contains itself");
    fails("x = []\nfor i in range(64): x = [x]\nemit_result(x)", "nested deeper than 64 levels");
    fails("x = []\nfor i in range(100000): x = [x]\nemit_result(x)", "nested deeper than 64 levels");
    fails("emit_result('x' * (9 << 20))", "bytes are too many");
    says("try:\n    emit_result(object())\nexcept TypeError:\n    emit_result('caught')", "result \"caught\"\ndone\n");
}

TEST_WITH(files_are_copied_with_mode_and_times, set_up, tear_down)
{
    harness_rig_start(&rig);
    says("import os, pathlib, shutil\n"
         "pathlib.Path('a').write_text('x'); os.chmod('a', 0o640); os.utime('a', (1000, 2000))\n"
         "shutil.copy('a', 'b'); shutil.copy2('a', 'c')\n"
         "os.mkdir('from'); shutil.copy2('a', 'from/f'); os.chmod('from', 0o750); shutil.copytree('from', 'to')\n"
         "pathlib.Path('b').chmod(0o600); os.utime('b')\n"
         "with open('c') as f: os.chmod(f.fileno(), 0o400); os.utime(f.fileno(), (5, 6))\n"
         "emit_result([oct(os.stat(n).st_mode & 0o777) for n in ('a', 'b', 'c', 'to', 'to/f')]\n"
         "            + [os.stat(n).st_mtime for n in ('a', 'c', 'to/f')])\n",
         "result [\"0o640\",\"0o600\",\"0o400\",\"0o750\",\"0o640\",2000.0,6.0,2000.0]\ndone\n");
    fails("import os\nos.chmod('nowhere', 0)", "FileNotFoundError: [Errno 2] No such file or directory: 'nowhere'");
}

TEST_WITH(errors_name_the_line, set_up, tear_down)
{
    harness_rig_start(&rig);
    fails("x = 1\n\ndef f():\n    raise ValueError('bad')\nf()\n", "error ValueError: bad\n");
    assert_string_equal(rig.traceback, "Traceback (most recent call last):\n"
                                       "  File \"<script>\", line 5, in <module>\n    f()\n"
                                       "  File \"<script>\", line 4, in f\n    raise ValueError('bad')\n"
                                       "ValueError: bad\n");
    fails("emit_result(object())\n", "TypeError");
    assert_null(strstr(rig.traceback, "<harness>"));
    assert_non_null(strstr(rig.traceback, "line 1, in <module>\n    emit_result(object())\n"));
    fails("x = 1\ndef (", "error SyntaxError: invalid syntax (<script>, line 2)\n");
    fails("if True:\nx = 1", "(<script>, line 2)\n");
    fails("# -*- coding: latin-1 -*-\nx = 'é'\n1/0", "ZeroDivisionError");
    assert_non_null(strstr(rig.traceback, "line 3, in <module>\n    1/0\n"));
    fails("raise ValueError('\\ud800')", "ValueError: \\ud800");
    fails("raise KeyError('k') from RuntimeError('cause')", "KeyError: 'k'");
    assert_non_null(strstr(rig.traceback, "RuntimeError: cause"));
    fails("raise ValueError('first ' + 'x' * 3000000 + ' last')", "error ValueError: first xxx");
    assert_non_null(strstr(rig.message, "xxx\n[the middle is left out]\nxxx"));
    assert_non_null(strstr(rig.message, "xxx last"));
    fails("import ctypes", ": native code, and so ctypes, is not available in the sandbox\n");
    fails("class E(Exception):\n    def __str__(self): raise SystemExit\nraise E", "E: <exception str() failed>");
    says("# -*- coding: latin-1 -*-\nemit_result('é')", "result \"é\"\ndone\n");
    assert_string_equal(answer("{\"execution_id\":\"n\",\"script\":\"x=1\\ny='a\\u0000b'\",\"timeout\":5}\n"),
                        "n error SyntaxError: the script holds a NUL character (<script>, line 2)\nn done\n");
}

TEST_WITH(requests_that_cannot_be_run_are_answered, set_up, tear_down)
{
    static const struct {
        const char *line, *answer;
    } cases[] = {
        {"not json\n", "null error the request is not JSON: "},
        {"[]\n", "null error the request must be an object, not array\nnull done\n"},
        {"{\"script\":\"x\",\"timeout\":1}\n", "null error the request has no execution_id\nnull done\n"},
        {"{\"execution_id\":7,\"script\":\"x\"}\n", "null error execution_id must be a text, not number\nnull done\n"},
        {"{\"execution_id\":\"a\\u0000b\",\"script\":\"x\"}\n",
         "null error execution_id holds a NUL character\nnull done\n"},
        {"\n", "null error the request is not JSON: "},
        {" \t\r\n", "null error the request is not JSON: "},
        {"{\"execution_id\":\"a\"}\n", "a error script must be a text, not missing\na done\n"},
        {"{\"execution_id\":\"a\",\"script\":[]}\n", "a error script must be a text, not array\na done\n"},
        {"{\"execution_id\":\"a\",\"script\":\"\"}\n",
         "a error timeout must be a number of seconds, not missing\na done\n"},
        {"{\"execution_id\":\"a\",\"script\":\"\",\"timeout\":\"5\"}\n",
         "a error timeout must be a number of seconds, not string\na done\n"},
        {"{\"execution_id\":\"a\",\"script\":\"\",\"timeout\":0}\n",
         "a error timeout must be between 1 and 604800 seconds, not 0\na done\n"},
        {"{\"execution_id\":\"a\",\"script\":\"\",\"timeout\":-1}\n", "a error timeout must be between 1 "},
        {"{\"execution_id\":\"a\",\"script\":\"\",\"timeout\":1e400}\n", "a error timeout must be between 1 "},
        {"{\"execution_id\":\"a\",\"script\":\"\",\"timeout\":1,\"mode\":\"LATER\"}\n",
         "a error unknown mode LATER (PLAN or INTERACTIVE)\na done\n"},
        {"{\"execution_id\":\"a\",\"script\":\"\",\"timeout\":1,\"required_secrets\":\"A\"}\n",
         "a error required_secrets must be a list of names, not string\na done\n"},
        {"{\"execution_id\":\"a\",\"script\":\"\",\"timeout\":1,\"required_secrets\":[1]}\n",
         "a error required_secrets must hold names of environment variables\na done\n"},
        {"  "
         "{\"execution_id\":\"a\",\"script\":\"emit_result(1)\",\"timeout\":1,\"mode\":\"INTERACTIVE\",\"new\":{}}\n",
         "a result 1\na done\n"},
    };

    harness_rig_start(&rig);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *said = answer(cases[i].line);
        if (strncmp(said, cases[i].answer, strlen(cases[i].answer)) != 0)
            fail_msg("%s\nsaid: %s\nnot:  %s", cases[i].line, said, cases[i].answer);
    }
    says("emit_result(1)", "result 1\ndone\n");
}

TEST_WITH(a_line_without_end_is_refused_and_the_next_is_read, set_up, tear_down)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    harness_rig_start(&rig);
    strbuf_grow(&line, (size_t)20 << 20);
    memset(line.buf, 'x', (size_t)20 << 20);
    strbuf_set_len(&line, (size_t)20 << 20);
    strbuf_addch(&line, '\n');
    assert_string_equal(answer(line.buf), "null error the request is longer than 16 MB\nnull done\n");
    says("emit_result(1)", "result 1\ndone\n");
}

TEST_WITH(requests_that_wait_are_run_in_turn, set_up, tear_down)
{
    CLEANUP(strbuf) struct strbuf lines = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf told = STRBUF_INIT;
    const struct json *event;
    harness_rig_start(&rig);
    for (int i = 0; i < 5; i++) {
        CLEANUP(free) char *id = xasprintf("w%d", i), *line = harness_request(id, "emit_result(1)", 5, NULL);
        strbuf_addstr(&lines, line);
    }
    strbuf_set_len(&lines, lines.len - 1); /* the last line has no newline: the end of the stream ends it */
    harness_rig_send(&rig, lines.buf, lines.len);
    close(rig.in);
    rig.in = -1;
    while ((event = harness_rig_event(&rig)))
        strbuf_addf(&told, "%s ", json_str(json_get(event, "execution_id"), "?"));
    assert_string_equal(told.buf, "w0 w0 w1 w1 w2 w2 w3 w3 w4 w4 ");
    assert_int_equal(harness_rig_wait(&rig), 0);
}

TEST_WITH(a_large_script_is_run, set_up, tear_down)
{
    CLEANUP(strbuf) struct strbuf script = STRBUF_INIT;
    harness_rig_start(&rig);
    for (int i = 0; i < 100000; i++)
        strbuf_addf(&script, "# line %d\n", i);
    strbuf_addstr(&script, "emit_result(7)");
    says(script.buf, "result 7\ndone\n");
}

/* ---- the program ---- */

static void read_error_line(char *line, size_t room)
{
    ssize_t count = read(rig.err, line, room - 1);
    line[count > 0 ? count : 0] = '\0';
}

TEST_WITH(wrong_usage_prints_one_line, set_up, tear_down)
{
    static const struct {
        const char *option, *told;
    } cases[] = {
        {"--tool", "keyturn-harness: unknown option '--tool' (did you mean --tools?)\n"},
        {"--memory=1", "keyturn-harness: --memory takes a number of MB, 64 to 1048576, not '1'\n"},
        {"--no-seccomp=1", "keyturn-harness: --no-seccomp takes no value\n"},
        {"--workspace=/nowhere/at/all", "keyturn-harness: /nowhere/at/all: No such file or directory (--workspace DIR "
                                        "names the folder scripts run in)\n"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[512];
        rig.options[0] = cases[i].option;
        harness_rig_launch(&rig);
        assert_int_equal(harness_rig_wait(&rig), 2);
        read_error_line(line, sizeof(line));
        assert_string_equal(line, cases[i].told);
    }
}
