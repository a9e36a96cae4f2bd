# Helpers for tests of the program from outside: exit statuses, texts, files. A test sources this file; $1 is the
# program. Every case has folders of its own, and no file of the user is touched.
program=$(readlink -f "${1:?usage: $0 PROGRAM}")
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-cli-XXXXXX")
trap '[ -z "${server:-}" ] || stop_model; chmod -R u+rwX "$base"; rm -rf "$base"' EXIT
source=$(readlink -f "$(dirname "$0")/../..")
passed=0 failed=0
export LC_ALL=C.UTF-8 TERM=dumb
unset NO_COLOR KEYTURN_FIXTURES XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME

# Without the meter of the loop, which ctest sets, a test of slow input would pass after any delay.
check_meter() {
    [ -n "${KEYTURN_LOOP_LIMIT_MS-}" ] || { echo "KEYTURN_LOOP_LIMIT_MS is not set"; exit 1; }
}

begin() { # case: fresh folders
    case_name=$1
    home=$base/${case_name// /_}
    mkdir -p "$home/ws" "$home/tmp"
    cd "$home" || exit 1
    export XDG_CONFIG_HOME=$home/config XDG_DATA_HOME=$home/data XDG_STATE_HOME=$home/state XDG_CACHE_HOME=$home/cache
    export HOME=$home TMPDIR=$home/tmp
    sessions=$XDG_DATA_HOME/keyturn/sessions
    printf 'one\ntwo\nthree\n' >ws/a.txt
    printf 'x\n' >ws/b.txt
}

ok() { # what, command…
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: %s\n' "$case_name" "$what"
        printf '  status %s\n' "${status-}"
        [ -f "$base/err" ] && sed 's/^/  stderr: /' "$base/err" | cut -c1-300 | head -5
        [ -f "$base/out" ] && sed 's/^/  stdout: /' "$base/out" | cut -c1-200 | head -12
    fi
}

kt() { # runs it: status, $base/out, $base/err
    timeout 60 "$program" "$@" >"$base/out" 2>"$base/err" </dev/null
    status=$?
}

is() { [ "$status" -eq "$1" ]; }
out() { grep -qF -- "$1" "$base/out"; }
no_out() { ! grep -qF -- "$1" "$base/out"; }
err() { grep -qF -- "$1" "$base/err"; }
one_error() { [ "$(wc -l <"$base/err")" -eq 1 ] && grep -q '^keyturn: ' "$base/err"; }
quiet() { [ ! -s "$base/err" ]; }
refused() { # text…: exit 2, one line that contains all of these
    ok "exit 2" is 2
    ok "one line" one_error
    local text
    for text in "$@"; do ok "says: $text" err "$text"; done
}

golden() { # name; UPDATE_GOLDEN=1 accepts the output
    [ -n "${UPDATE_GOLDEN-}" ] && cp "$base/out" "$source/tests/e2e/account/$1"
    ok "$1" diff "$source/tests/e2e/account/$1" "$base/out"
}

answer() { # step text calls
    printf '{"type":"model.responded","turn":1,"step":%s,"text":"%s","tool_calls":[%s],"stop":"%s","usage":{"input":10,"output":5},"cost_usd":0.001,"latency_ms":%s}\n' \
        "$1" "$2" "$3" "$([ -n "$3" ] && echo tool_use || echo end_turn)" "${latency:-1}"
}
head_lines() { # prompt
    printf '{"type":"session.started","v":1,"session":"s","model":{"provider":"scripted","name":"hand"}}\n'
    printf '{"type":"turn.started","turn":1,"prompt":"%s"}\n' "$1"
}
read_a='{"id":"c1","name":"read_file","arguments":{"path":"a.txt"}}'
edit_a='{"id":"c2","name":"edit_file","arguments":{"path":"a.txt","old":"two","new":"zwei"}}'

script_reads() { head_lines "Look." && answer 1 "I look." "$read_a" && answer 2 "Seen." ""; }
script_writes() { head_lines "Change it." && answer 1 "I look." "$read_a" && answer 2 "I write." "$edit_a" && answer 3 "Changed." ""; }

on_tty() { # command as one word, size set first; only its output is a terminal, so no user can press keys
    TERM=xterm-256color script -qec "stty cols 60 rows 20; { $1; } </dev/null" /dev/null </dev/null >"$base/out" 2>"$base/err"
    status=$?
}

finish() { # the sum, at the end of a test
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ]
}
