#!/usr/bin/env bash
# Tests keyturn as root: the user of sandboxed code, ordinary programs, and the message if there is no such user. $1 is
# the program.
set -u
program=$(readlink -f "${1:?usage: test_root.sh PROGRAM}")
source=$(readlink -f "$(dirname "$0")/..")
[ "$(id -u)" -eq 0 ] || exit 0
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-root-XXXXXX")
trap 'rm -rf "$base"' EXIT
cd "$base" || exit 1
umask 077
export LC_ALL=C.UTF-8 HOME=$base XDG_CONFIG_HOME=$base/config XDG_DATA_HOME=$base/data XDG_STATE_HOME=$base/state
export XDG_CACHE_HOME=$base/cache ASAN_OPTIONS=detect_leaks=0
uid=$(id -u _keyturn 2>/dev/null || sed -n 's/#define SANDBOX_UID *//p' "$source/../core/sandbox/user.h")
passed=0 failed=0
ok() { # what, command…
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        printf 'FAIL %s\n' "$what"
        sed 's/^/  | /' out | cut -c1-400 | tail -20
    fi
}
not() { ! "$@"; }
out() { tr -s ' \n' ' ' <out | grep -qF -- "$1"; }

"$program" engines bwrap >out 2>&1
ok "engines prints the uid" out "runs as uid $uid"
"$program" engines --json bwrap >out 2>&1
ok "JSON has it too" out "\"uid\":$uid"
"$program" engines none >out 2>&1
ok "engine none is unsafe" out 'UNSAFE: '
ok "and runs as root" out 'runs as uid 0'
"$program" doctor >out 2>&1
ok "doctor prints it too" out "root's sandboxes run as uid $uid"

# Without user namespaces, doctor names the cause and a fix.
python3 "$source/support/without_userns.py" "$program" engines bwrap >out 2>&1
ok "without user namespaces" out "the sandbox's user cannot create a user namespace on this machine (raise user.max_user_namespaces"

# Root of a user namespace: uses another mapped user if one exists; otherwise it does not try to become one.
place=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-userns-XXXXXX")
trap 'rm -rf "$base" "$place"' EXIT
mkdir "$place/home"
cp "$(dirname "$program")"/keyturn{,-launch,-harness} "$place/"
chmod -R a+rX "$place"
chown 100000:100000 "$place/home"
inside() { # map, allow or deny, command…
    env -C "$place/home" HOME="$place/home" XDG_CONFIG_HOME="$place/home" XDG_DATA_HOME="$place/home" \
        XDG_STATE_HOME="$place/home" XDG_CACHE_HOME="$place/home" TMPDIR="$place/home" \
        python3 "$source/support/in_userns.py" "$@" >out 2>&1
}
inside "0 100000 65536" allow "$place/keyturn" engines --json bwrap
ok "a namespace with many users uses another one" out "\"uid\":$uid"
inside "0 100000 65536" allow "$place/keyturn" doctor
ok "doctor prints it" out "root's sandboxes run as uid $uid"
inside "0 100000 65536" deny "$place/keyturn" engines --json bwrap
ok "not if groups cannot be changed" not out '"uid":'
inside "0 0 1" allow "$place/keyturn" doctor
ok "nor if only root is mapped" out "sandboxes run as uid 0: this user namespace has no uid $uid"

# A script whose tools only root can read.
mkdir tools
printf 'def twice(n):\n    return 2 * n\n' >tools/twice.py
"$program" exec --tools tools - <<<'emit_result(twice(21))' >out 2>&1
ok "tools that only root can read work" out '"data":42'

# Ordinary programs, in a workspace below folders that only root can enter.
mkdir work
cat >commands <<'SH'
set -e
id -u
echo 'int main(void) { return 0; }' >work/a.c
printf 'a: a.c\n\tcc -o a a.c\n' >work/Makefile
make -C work && work/a && echo made
cd work
git init -q . && git add a.c && git -c user.name=x -c user.email=x@x commit -qm one && git log --oneline | grep -q one && echo committed
python3 -c 'import subprocess, tempfile; tempfile.TemporaryFile(); print(subprocess.check_output(["echo", "forked"]).decode())'
! command -v node >/dev/null || node -e 'console.log(require("os").tmpdir())'
echo again >/dev/stderr
mkdir -p d/e && mv a.c d/e && ln d/e/a.c d/b && rm -r d && echo moved
echo mine >../out/o
echo ended
SH
cat >model.jsonl <<TXT
{"type":"session.started","v":1}
{"type":"turn.started","turn":1,"prompt":"x"}
{"type":"model.responded","turn":1,"step":1,"tool_calls":[{"id":"c1","name":"workspace_exec","arguments":{"command":"echo $(base64 -w0 commands) | base64 -d | sh"}}]}
{"type":"model.responded","turn":1,"step":2,"tool_calls":[{"id":"c2","name":"bring_back","arguments":{"from":"out/o","to":"o"}}]}
{"type":"model.responded","turn":1,"step":3,"text":"done"}
TXT
"$program" run --headless --approve allow --workspace work --model scripted:model.jsonl go >events 2>&1
grep '"type":"tool.finished"' events >out
for word in 65534 made committed forked again moved ended; do
    ok "a program: $word" out "$word"
done
ok "copied files belong to root" test "$(stat -c %u:%g work/o)" = 0:0
ok "with its content" test "$(cat work/o)" = mine
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
