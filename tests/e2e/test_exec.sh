#!/usr/bin/env bash
# Tests keyturn exec and keyturn engines from outside: a real harness in a real sandbox. $1 is the program.
set -u
program=$(readlink -f "${1:?usage: test_exec.sh PROGRAM}")
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-exec-XXXXXX")
trap 'rm -rf "$base"' EXIT
source=$(readlink -f "$(dirname "$0")/../..")
passed=0 failed=0
export LC_ALL=C.UTF-8 TERM=dumb HOME=$base
export XDG_CONFIG_HOME=$base/config XDG_DATA_HOME=$base/data XDG_STATE_HOME=$base/state XDG_CACHE_HOME=$base/cache
unset NO_COLOR KEYTURN_HARNESS
cd "$base" || exit 1

ok() { # what, command…
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s\n  status %s\n' "$what" "${status-}"
        sed 's/^/  stderr: /' err | cut -c1-300 | head -5
        sed 's/^/  stdout: /' out | cut -c1-300 | head -12
    fi
}
kt() { # runs it with the script on standard input: status, out, err
    timeout 60 "$program" "$@" >out 2>err
    status=$?
}
on_terminal() { # the same with a terminal as standard output
    timeout 60 script -qec "$program $*" /dev/null </dev/null 2>err | tr -d '\r' >out
    status=${PIPESTATUS[0]}
}
is() { [ "$status" -eq "$1" ]; }
out() { grep -qF -- "$1" out; }
err() { grep -qF -- "$1" err; }
last() { [ "$(tail -n 1 out)" = "$1" ]; }
one_error() { [ "$(wc -l <err)" -eq 1 ] && grep -q '^keyturn: ' err; }
quiet() { [ ! -s err ]; }
none_left() { # processes, and temporary folders
    for _ in $(seq 100); do
        [ -z "$(pgrep -f "$base/cache")" ] && [ -z "$(ls "$base/cache/keyturn/boxes")" ] && return
        sleep 0.05
    done
    return 1
}

# Results
kt exec - <<<'emit_result(1)'
ok "works without a config file" is 0
ok "its result" out '{"type":"final_result","execution_id":"exec-1","data":1}'
ok "script_done is last" last '{"type":"script_done","execution_id":"exec-1"}'
ok "no message on stderr" quiet
ok "no process left" none_left
printf 'print("one")\nemit_log("two", "warning")\nemit_intermediate("three", [3])\nemit_result({"four": 4})\nprint("five")\n' >script.py
kt exec script.py </dev/null
ok "events in order" test "$(grep -ow 'one\|two\|three\|four\|five' out | tr '\n' ' ')" = "one two three four five "
kt exec <<<'raise ValueError("no good")'
ok "a failing script is 1" is 1
ok "one line names it" one_error
ok "the cause" err "keyturn: ValueError: no good"
ok "and its event" out '"type":"error"'
kt exec - <<<$'emit_result(1)\nraise ValueError("too late")'
ok "a result counts, even if the script fails later" is 0
ok "the later failure is a warning" err "keyturn: the script failed after its result: ValueError: too late"
ok "on one line" test "$(wc -l <err)" -eq 1
kt exec - <<<'pass'
ok "no result is a failure" is 1
ok "with a message" err "without a result"
kt exec --mode interactive - <<<'pass'
ok "a step without a result is no failure" is 0
kt exec --timeout 1 - <<<'while True: pass'
ok "time" is 1
ok "the message has the limit" err "timed out after 1s"
kt exec --max-output 2000 - <<<'print("x" * 100000)'
ok "too much output" is 1
ok "names the limit" err "2000 bytes"
ok "the output was cut" test "$(wc -c <out)" -le 2000
for _ in 1 2 3 4 5 6 7 8 9 10; do # all of it may arrive at once
    kt exec --max-output 300 - <<<$'emit_result(1)\nprint("x" * 5000)'
    is 0 || break
done
ok "too much output after a result: exit 0" is 0
ok "with a warning" err "keyturn: the script failed after its result: its output exceeded the limit of 300 bytes"
ok "on one line" test "$(wc -l <err)" -eq 1
kt exec - <<<'import os; os._exit(0)'
ok "an early exit is a failure" is 1

# The sources of a script
printf '# coding: latin-1\nx = 1\nemit_result("\xe9")\n' >latin.py
kt exec latin.py
ok "not UTF-8 is refused" is 2
ok "with its place and its cause" err "keyturn: latin.py:3: not UTF-8; the coding line is ignored"
ok "in one line" one_error
kt exec - < <(printf 'emit_result("\xe9")\n')
ok "also of standard input" err "keyturn: standard input:1: not UTF-8 (the byte 0xe9"
printf '\xef\xbb\xbfemit_result("\xc3\xa9\xef\xbf\xbd")\n' >marked.py
kt exec marked.py
ok "a byte order mark is dropped" is 0
ok "the rest is unchanged" out '"data":"é�"'
printf 'emit_result(1)\n\0\n' >nul.py
kt exec nul.py
ok "a NUL byte" is 2
ok "is refused" err "keyturn: nul.py:2: a NUL byte"
kt exec ''
ok "an empty FILE argument" is 2
ok "has its own message" err "keyturn: FILE is empty"
timeout 60 "$program" exec - >&- 2>err <<<'emit_result(1)'
status=$?
ok "closed standard output" is 1
ok "has its own message" err "standard output is closed"

# A script of a turn runs the project's own tests
mkdir -p project helpers
printf 'def double(x):\n    return x * 2\n' >project/lib.py
printf 'import unittest, lib\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(lib.double(2), 4)\n' >project/test_lib.py
printf 'EFFECT = "READ_ONLY"\ndef look(): return 7\ndef other(): pass\n' >helpers/t.py
cat >project.jsonl <<'TXT'
{"type":"session.started","v":1,"session":"x","workspace":"project"}
{"type":"turn.started","prompt":"test it"}
{"type":"model.responded","step":1,"text":"","tool_calls":[{"id":"c1","name":"run_script","arguments":{"script":"import unittest\nr = unittest.TestResult()\nunittest.defaultTestLoader.discover('.').run(r)\nemit_result([r.testsRun, r.wasSuccessful(), look(), 'other' in globals()])","files":["*.py"],"tools":["look"]}}],"stop":"tool_use"}
{"type":"model.responded","step":2,"text":"done","tool_calls":[],"stop":"end"}
TXT
kt replay --execute --headless --tools helpers project.jsonl
ok "with copies of its files, and the named tool" out '"final_data":[1,true,7,false]'

# Isolation of a script
kt exec - <<<'import os; emit_result(sorted(k for k in os.environ if k.startswith(("KEYTURN", "XDG", "LC_", "SSH"))))'
ok "no variable of our environment" out '"data":[]'
export API_TOKEN=open-sesame
kt exec --secret API_TOKEN - <<<'import os; emit_result(len(os.environ["API_TOKEN"]))'
ok "a declared secret" out '"data":11'
kt exec --secret API_TOKEN - <<<'import os, base64
value = os.environ["API_TOKEN"]
print(value)
emit_intermediate("spelled", base64.b64encode(value.encode()).decode())
raise ValueError(value)'
ok "its value is not printed" test "$(cat out err | grep -c "$API_TOKEN\|$(printf %s "$API_TOKEN" | base64)")" = 0
ok "its name is" out '"message":"[secret API_TOKEN]","level":"stdout"'
ok "in every spelling" out '"data":"[secret API_TOKEN]'
ok "in errors too" err "keyturn: ValueError: [secret API_TOKEN]"
kt exec - <<<'import os; emit_result("API_TOKEN" in os.environ)'
ok "without --secret it is missing" out '"data":false'
kt exec --secret NOT_THERE_AT_ALL - <<<'emit_result(1)'
ok "a secret that is not set" is 1
ok "is named" err "NOT_THERE_AT_ALL"
kt exec --secret A=B - <<<'emit_result(1)'
ok "an invalid name" is 2
ok "gets one piece of advice" err 'invalid secret name "A=B"; use the name of an environment variable'
ok "and only one" test "$(grep -o '(' err | wc -l)" -eq 1
# In a turn the model selects secrets: the script gets those that were declared, and no others.
mkdir ws
cat >m.jsonl <<'END'
{"type":"session.started","v":1,"model":{"provider":"scripted","name":"m"}}
{"type":"turn.started","prompt":"x"}
{"type":"model.responded","text":"","tool_calls":[{"id":"c1","name":"run_script","arguments":{"script":"import os; emit_result(len(os.environ['API_TOKEN']))","secrets":["API_TOKEN"],"timeout":5}}],"stop":"tool_use"}
{"type":"model.responded","text":"Done.","tool_calls":[],"stop":"end"}
END
kt run --headless --workspace ws --model m.jsonl --secret API_TOKEN x </dev/null
ok "declared for a turn" out '"final_data":11'
kt run --headless --workspace ws --model m.jsonl --secret OTHER x </dev/null
ok "not declared" out 'the secret API_TOKEN is not declared for this session (declared: OTHER)'
kt exec - <<<'open("/proc/1/environ").read()'
ok "not through other variables" is 1
kt exec - <<<"open('$base/out')"
ok "none of our files" is 1
kt exec - <<<'import socket; socket.create_connection(("127.0.0.1", 9), 1)'
ok "no network" is 1
mkdir tools
printf 'def double(x):\n    return 2 * x\n' >tools/more.py
kt exec --tools tools - <<<'emit_result(double(21))'
ok "tools" out '"data":42'
kt exec --tools tools - <<<'open("/tools/more.py", "a")'
ok "which a script cannot change" is 1
mkdir bad
printf 'raise RuntimeError("broken \\x1b[31m")\n' >bad/a.py
printf 'print("loading")\ndef half(x):\n    return x / 2\n' >bad/b.py
kt exec --timeout 5 --tools bad - <<<'emit_result(half(84))'
ok "a broken tool and one that prints: exit 0" is 0
ok "the script has the other tools" out '"data":42.0'
ok "the broken one is reported without an execution id" grep -q '"type":"log","execution_id":null,.*a.py: RuntimeError' out
ok "the printed text too" grep -q '"type":"log","execution_id":null,"message":"loading"' out
ok "before the script" test "$(grep -n -m1 exec-1 out | cut -d: -f1)" -gt "$(grep -n loading out | cut -d: -f1)"
ok "script_done is still last" last '{"type":"script_done","execution_id":"exec-1"}'
kt exec - <<<'open("a", "w").write("x"); import os; emit_result(os.listdir("."))'
ok "a workspace of its own" out '"data":["a"]'

# Engines
kt exec --engine none - <<<'import os; emit_result(os.getcwd())'
ok "--engine none: exit 0" is 0
ok "with a warning" err "keyturn: --engine none is UNSAFE"
ok "in a line" one_error
kt engines none </dev/null
ok "keyturn engines none warns too" grep -q '^\(ok\|warn\) *none  UNSAFE: ' out
kt engines nosuch </dev/null
ok "one that is not there" is 2
ok "is named as the user typed it" err "keyturn: unknown engine 'nosuch'"
mkdir -p config/keyturn
printf '// mine\n{"mine": {"argv": ["%s", "leave"], "env": []}}\n' "$source/tests/support/fake_harness.sh" >config/keyturn/engines.json
kt exec --engine mine - <<<'emit_result(1)'
ok "an engine that does not start is 2" is 2
ok "names the cause" err "mine ended with status 3 before it was ready: no room for you"
ok "in one line" one_error
kt engines mine </dev/null
ok "test of a failing engine: exit 1" is 1
ok "names the cause" out "no room for you"
printf '{"old": {"argv": ["sh", "-c", "echo \\"keyturn-harness: unknown option $1\\" >&2; exit 2", "{image}", "--new"]}}\n' \
    >config/keyturn/engines.json
kt engines old </dev/null
ok "an image of another version" is 1
ok "names the fix" grep -q 'another version.*./dev image' <(tr -s ' \n' ' ' <out)
kt exec --engine old - <<<'emit_result(1)'
ok "exec with that image" is 2
ok "names the fix too" err "its keyturn-harness has another version (./dev image rebuilds the image): old ended with status 2"
cat >config/keyturn/engines.json <<'TXT'
{"cr": {"argv": ["sh", "-c", "printf 'no way\\r\\n' >&2; exit 3"]}}
TXT
kt exec --engine cr - <<<'emit_result(1)'
ok "CR at line ends is removed" err "before it was ready: no way (keyturn engines says more)"
kt exec --engine bwrap:there - <<<'emit_result(1)'
ok "a host for a local engine" is 2
ok "is refused" err "keyturn: sandbox 'bwrap:there': bwrap runs on this machine only"
# A harness with sanitizers must get all the memory it requests: fewer layers apply then.
refused="memory, processes, network, files, tools, native" verdict=works
if grep -q __asan_init "$(dirname "$program")/keyturn-harness"; then
    refused="processes, network, files, tools, native; NOT refused: memory" verdict=weak
fi
kt engines --json bwrap </dev/null
ok "test of a working engine" is "$([ $verdict = works ] && echo 0 || echo 1)"
ok "lists the refused attacks" out "; refused: $refused; "
ok "names the layers" out "seccomp"
kt engines bwrap </dev/null
ok "as plain text" grep -q '^\(ok\|warn\) *bwrap  bubblewrap: ' out
kt engines --json </dev/null
ok "all" test $verdict != works -o "$status" -eq 0
ok "bwrap works" out '{"engine":"bwrap","about":"bubblewrap: namespaces on this machine, no network, nothing to set up","verdict":"'$verdict
ok "a remote engine is not tested" grep -q '"engine":"ssh".*"verdict":"\(untried\|fails\)"' out
rm config/keyturn/engines.json
timeout 60 env PATH=/nowhere "$program" exec - >out 2>err <<<'emit_result(1)'
status=$?
ok "no sandbox" is 2
ok "names the fix" err "install bubblewrap"
ok "no process left" none_left

# On a terminal
printf 'import sys\nprint("hello \\x1b[31mred")\nemit_intermediate("parts", {"a": [1, 2]})\ndef f(x):\n    return 1 / x\nf(0)\n' >script.py
on_terminal exec script.py
ok "plain text" test "$(grep -c '"type"' out)" = 0
ok "with its output, escaped" out 'hello ^[[31mred'
ok "with its intermediate events" out '"a": ['
ok "the failing line is marked" out '>    5      return 1 / x'
ok "the traceback" out 'ZeroDivisionError: division by zero'
ok "the last line has the result" grep -q '^failed in .* sandbox bwrap$' out

# Ends
kill_and_look() { # signal
    : >out # not the output of the run before
    setsid "$program" exec - >out 2>err <<<'emit_log("running")
import time
time.sleep(100)' &
    local pid=$! inside
    for _ in $(seq 400); do grep -q running out && break; sleep 0.05; done
    inside=$(for p in $(pgrep -P "$pid"); do echo "$p"; pgrep -P "$p"; done)
    inside="$inside $(for p in $inside; do pgrep -P "$p"; done)"
    ok "it runs ($1)" test "$(echo $inside | wc -w)" -ge 3
    kill "-$1" "$pid"
    wait "$pid" 2>/dev/null
    status=$?
    for _ in $(seq 100); do
        local alive=""
        for p in $inside; do
            [ -d "/proc/$p" ] && ! grep -q '^State:.*[ZX]' "/proc/$p/status" 2>/dev/null && alive="$alive $p"
        done
        [ -z "$alive" ] && break
        sleep 0.05
    done
    ok "no process left ($1)" test -z "$alive"
}
kill_and_look INT
ok "interrupted" is 130
kill_and_look TERM
ok "terminated" is 143
kill_and_look KILL
kt exec - <<<'emit_result(1)'
ok "the next run removes the folders" none_left
# Killed while the sandbox is starting, at many instants: its processes have this folder in their command line.
mkdir -p early
for i in $(seq 60); do
    "$program" exec --tools early - <<<'emit_result(1)' >/dev/null 2>&1 &
    sleep "0.0$(printf %02d $((i % 20)))"
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
done
for _ in $(seq 100); do pgrep -f "bwrap.*$base/early" >/dev/null || break; sleep 0.1; done
ok "a program killed at its start leaves no process" test -z "$(pgrep -f "bwrap.*$base/early")"
(exec 3>&1; timeout 60 "$program" exec - 2>err <<<'for i in range(100000): print(i)' | head -n 1 >out; exit "${PIPESTATUS[0]}")
status=$?
ok "a closed pipe" is 1
ok "one line names it" one_error

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
