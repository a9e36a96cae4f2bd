#!/usr/bin/env bash
# Tests that scripts, programs and MCP servers find no key of the session in which keyturn was started. $1 is the
# program.
set -u
program=$(readlink -f "${1:?usage: test_keyring.sh PROGRAM}")
source=$(readlink -f "$(dirname "$0")/..")
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-keyring-XXXXXX")
trap 'rm -rf "$base"' EXIT
cd "$base" || exit 1
export LC_ALL=C.UTF-8 HOME=$base XDG_CONFIG_HOME=$base/config XDG_DATA_HOME=$base/data XDG_STATE_HOME=$base/state
export XDG_CACHE_HOME=$base/cache ASAN_OPTIONS=detect_leaks=0
key=keyturn-e2e-key passed=0 failed=0
with_full() { timeout 60 python3 "$source/support/with_key.py" --full $key "$@"; }
with_key() { timeout 60 python3 "$source/support/with_key.py" $key "$@"; }
ok() { # what, command…
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        printf 'FAIL %s\n' "$what"
        sed 's/^/  | /' out | cut -c1-300 | head -20
    fi
}
out() { grep -qF -- "$1" out; }
not() { ! "$@"; }

# The control: a process of the session finds the key, by its name and in /proc/keys.
find_key=$source/sandbox/attacks/session_key.py
with_key python3 "$find_key" $key >out 2>&1
ok "the key is there" out 'reached by name: open'
ok "and is listed" out 'reached in /proc/keys'

# A script. The layers that would kill it for the attempt are off, so only the keyring protects the key.
mkdir -p config/keyturn work
cat >config/keyturn/engines.json <<'JSON'
{"bare": {"argv": ["{harness}", "--workspace", "{workspace}", "--no-seccomp", "--no-landlock", "--no-rlimits"], "unsafe": true, "env": []}}
JSON
{
    echo "import sys; sys.argv = ['x', '$key']"
    cat "$find_key"
    echo 'emit_result("ended")'
} >script.py
with_key "$program" exec --engine bare script.py >out 2>&1
ok "a script looks for it" out '"data":"ended"'
ok "and does not find it" not out 'reached by name'
with_key "$program" exec script.py >out 2>&1
ok "nor one in a sandbox" not out reached

# An MCP server, which runs without a sandbox.
cat >servers.json <<JSON
{"mcpServers": {"f": {"command": "sh", "args": ["-c",
  "python3 '$find_key' $key >'$base/server' 2>&1; exec python3 '$source/support/fake_mcp.py'"]}}}
JSON
with_key "$program" doctor --mcp servers.json >out 2>&1
ok "a server answers" out 'f__echo'
cp server out
ok "a server looks for it" out here
ok "and does not find it" not out 'reached by name'

# A program of a turn.
cat >model.jsonl <<TXT
{"type":"session.started","v":1}
{"type":"turn.started","turn":1,"prompt":"x"}
{"type":"model.responded","turn":1,"step":1,"tool_calls":[{"id":"c1","name":"workspace_exec","arguments":{"command":"echo $(base64 -w0 "$find_key") | base64 -d >k.py; python3 k.py $key"}}]}
{"type":"model.responded","turn":1,"step":2,"text":"done"}
TXT
with_key "$program" run --headless --workspace work --model scripted:model.jsonl look >out 2>&1
grep '"type":"tool.output"' out >printed
cp printed out
ok "a program looks for it" out here
ok "and does not find it" not out 'reached by name'
ok "nor in /proc/keys" not out 'reached in'

# A user with a full quota of keys gets no new keyring for a child, and a child is never started in that user's own
# keyring. Root may have a million keys.
if [ "$(id -u)" -ne 0 ]; then
    rm -f server
    export program find_key key
    with_full sh -c '
        python3 "$find_key" $key >found 2>&1
        "$program" doctor --mcp servers.json >servers 2>&1
        "$program" exec --engine bare script.py >scripts 2>&1
        "$program" run --headless --workspace work --model scripted:model.jsonl look >programs 2>&1' >out 2>&1
    cat found >>out
    ok "with a full quota the key is there" out 'reached by name: open'
    cp servers out
    ok "with a full quota no server starts" test ! -e server
    ok "and it says why" out 'cannot create a session keyring'
    cp scripts out
    ok "nor does a script" not out '"data":"ended"'
    ok "for the same reason" out 'cannot create a session keyring'
    cp programs out
    ok "nor does a program" not out reached
    ok "for that reason, too" out 'cannot create a session keyring'
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
