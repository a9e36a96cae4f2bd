#!/usr/bin/env bash
# Runs scripts and programs in containers of a real dockerd. The test starts the daemon on a socket of its own and ends
# it. $1 is keyturn, the others are tests of programs. Only root can start it: for other users the test counts as
# skipped.
set -u
program=$(readlink -f "${1:?usage: test_docker.sh PROGRAM TEST...}")
shift
source=$(readlink -f "$(dirname "$0")/../..")
if [ "$(id -u)" -ne 0 ]; then
    echo "dockerd runs as root only: not tried" >&2
    exit 77
fi
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-docker-XXXXXX")
export DOCKER_HOST=unix://$base/socket XDG_CONFIG_HOME=$base/config XDG_DATA_HOME=$base/data XDG_STATE_HOME=$base/state
export XDG_CACHE_HOME=$base/cache
failed=0

# The daemon creates and changes no network: its containers have none.
dockerd --host "$DOCKER_HOST" --data-root "$base/images" --exec-root "$base/exec" --pidfile "$base/pid" --bridge=none \
    --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false --exec-opt native.cgroupdriver=cgroupfs \
    >"$base/log" 2>&1 &
daemon=$!
stop() {
    kill "$daemon"
    wait "$daemon"
    rm -rf "$base"
}
trap stop EXIT
for _ in $(seq 300); do
    docker info >/dev/null 2>&1 && break
    if ! kill -0 "$daemon" 2>/dev/null; then
        sed 's/^/dockerd: /' "$base/log" | tail -5 >&2
        exit 1
    fi
    sleep 0.1
done

ok() { # what, command…
    local what=$1
    shift
    "$@" && return
    failed=$((failed + 1))
    printf 'FAIL %s\n' "$what"
    sed 's/^/  | /' "$base/out"
}
has() { grep -q -- "$1" <(tr -s ' \n' ' ' <"$base/out"); }
running() { docker ps --quiet | grep -c .; }

"$source/docker/image.sh" --local --engine docker --harness "$(dirname "$program")/keyturn-harness" >"$base/out" 2>&1
ok "the image is built" test $? -eq 0
"$program" engines docker >"$base/out" 2>&1
ok "it works" has '^ok docker'
ok "its limits are felt" has 'engine limits on memory and processes work'
"$program" exec --engine docker - <<<'emit_result(6 * 7)' >"$base/out" 2>&1
ok "a script has its result" has '"data":42'

# Killed in the middle of a script: the container is not left behind.
"$program" exec --engine docker --timeout 600 - <<<'import time; print("on"); time.sleep(600)' >"$base/out" 2>&1 &
script=$!
for _ in $(seq 300); do has '"on' && break; sleep 0.1; done
kill -9 "$script"
wait "$script" 2>/dev/null
for _ in $(seq 300); do [ "$(running)" -eq 0 ] && break; sleep 0.1; done
ok "no container is left" test "$(running)" -eq 0

# The same for a program of a turn.
mkdir -p "$XDG_CONFIG_HOME/keyturn" "$base/work"
echo '{"workspace": {"engine": "docker"}}' >"$XDG_CONFIG_HOME/keyturn/config.json"
cat >"$base/model.jsonl" <<'TXT'
{"type":"session.started","v":1}
{"type":"turn.started","turn":1,"prompt":"x"}
{"type":"model.responded","turn":1,"step":1,"tool_calls":[{"id":"c1","name":"workspace_exec","arguments":{"command":"echo on; sleep 600"}}]}
TXT
"$program" run --headless --workspace "$base/work" --model "scripted:$base/model.jsonl" wait >"$base/out" 2>&1 &
turn=$!
for _ in $(seq 300); do has '"type":"tool.output"' && break; sleep 0.1; done
ok "a command runs there" has '"text":"on'
kill -9 "$turn"
wait "$turn" 2>/dev/null
for _ in $(seq 300); do [ "$(running)" -eq 0 ] && break; sleep 0.1; done
ok "no container of the command is left" test "$(running)" -eq 0

for test in "$@"; do
    "$test" '*' docker localhost/keyturn-harness >"$base/out" 2>&1
    ok "${test##*/}" test $? -eq 0
    ok "${test##*/}: no container is left" test "$(running)" -eq 0
done
[ "$failed" -eq 0 ]
