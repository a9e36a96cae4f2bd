# Helpers for tests of engines on other machines. A test sources this file with the program as $1.
set -u
program=$(readlink -f "${1:?usage: test_NAME.sh PROGRAM}")
build=$(dirname "$program")
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-remote-XXXXXX")
chmod 755 "$base"
passed=0 failed=0 daemons=()
export LC_ALL=C.UTF-8 TERM=dumb TMPDIR=$base/tmp XDG_CACHE_HOME=$base/cache XDG_CONFIG_HOME=$base/config
# A harness with sanitizers must get all the memory it requests.
refused="memory, processes, network, files, tools, native"
grep -q __asan_init "$build/keyturn-harness" && refused="processes, network, files, tools, native; NOT refused: memory"
mkdir -p "$TMPDIR"
chmod 1777 "$TMPDIR"

clean_up() {
    [ ${#daemons[@]} -eq 0 ] || kill "${daemons[@]}" 2>/dev/null
    for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null; done
    rm -rf "$base"
}
trap clean_up EXIT

cannot() { # part, why: this machine cannot run the test at all
    echo "FAIL: $1 cannot run here: $2"
    exit 1
}
need() { # program package
    command -v "$1" >/dev/null || PATH=$PATH:/usr/sbin command -v "$1" >/dev/null || cannot "$1" "it is not installed (apt-get install $2)"
}
until_true() { # seconds, command…
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
ok() { # what, command…
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s\n  status %s\n' "$what" "${status-}"
        sed 's/^/  stderr: /' "$base/err" | cut -c1-300 | head -5
        sed 's/^/  stdout: /' "$base/out" | cut -c1-300 | head -5
    fi
}
kt() { # runs it with the script on standard input
    timeout 120 "$program" "$@" >"$base/out" 2>"$base/err"
    status=$?
}
is() { [ "$status" -eq "$1" ]; }
out() { grep -qF -- "$1" "$base/out"; }
err() { grep -qF -- "$1" "$base/err"; }
one_error() { [ "$(wc -l <"$base/err")" -eq 1 ] && grep -q '^keyturn: ' "$base/err"; }
no_harness() { [ -z "$(pgrep -f "keyturn-harness --workspace $TMPDIR")" ]; }
a_harness() { ! no_harness; }
no_workspace() { [ -z "$(ls "$TMPDIR")" ]; }

# Checks that hold for every remote engine. $1: as in --engine; $2: "killed" if the engine kills a job at once when its
# owner dies, so that the job cannot remove its workspace.
try_remote() {
    kt exec --engine "$1" - <<<'import os
open("x", "w").close()
os.mkdir("closed", 0)
emit_result(sorted(os.listdir(".")))'
    ok "a script" is 0
    ok "in a workspace of its own" out '"data":["closed","x"]'
    ok "which is removed" until_true 20 no_workspace
    export API_TOKEN=open-sesame
    kt exec --engine "$1" --secret API_TOKEN - <<<'import os; emit_result(len(os.environ["API_TOKEN"]))'
    ok "a secret" out '"data":11'
    kt exec --engine "$1" - <<<'import os; emit_result("API_TOKEN" in os.environ)'
    ok "and no undeclared one" out '"data":false'
    mkdir -p "$base/my tools"
    printf 'def double(x):\n    return 2 * x\n' >"$base/my tools/more.py"
    kt exec --engine "$1" --tools "$base/my tools" - <<<'emit_result(double(21))'
    ok "tools in a folder of any name" out '"data":42'
    kt exec --engine "$1" - <<<'raise ValueError("no good")'
    ok "a failure" is 1
    ok "and its cause" err "ValueError: no good"
    kt engines --json "$1" </dev/null
    ok "every refused attack" out "; refused: $refused; "
    ok "no harness is left" until_true 20 no_harness

    "$program" exec --engine "$1" - >"$base/out" 2>"$base/err" <<<'emit_log("running")
import time
time.sleep(100)' &
    local pid=$!
    ok "it runs" until_true 60 grep -q running "$base/out"
    ok "on the other machine" a_harness
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    ok "killed with the program" until_true 30 no_harness
    [ "${2-}" = killed ] || ok "and its workspace removed" until_true 30 no_workspace
}
finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
