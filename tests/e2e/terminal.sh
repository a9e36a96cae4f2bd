# Helpers for tests in a real terminal emulator: a tmux server with a socket of its own and no configuration. A test
# sources this file; $1 is the program, $2… are the cases to run (default: all). Nothing sleeps: each step waits, up to
# a limit, until the screen shows the expected text.
program=$(readlink -f "${1:?usage: $0 PROGRAM [CASE…]}")
shift
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-tmux-XXXXXX")
source=$(readlink -f "$(dirname "$0")/../..")
mux() { tmux -S "$base/socket" -f /dev/null "$@"; }
# An ending program may still write its last lines.
trap '[ -z "${server:-}" ] || stop_model; mux kill-server 2>/dev/null; for i in 1 2 3 4 5 6; do rm -rf "$base" 2>/dev/null && break; sleep 0.5; done' EXIT
command -v tmux >/dev/null || { echo "tmux is not installed"; exit 1; }
passed=0 failed=0 wait_s=${KEYTURN_TEST_WAIT:-20}
unset TMUX NO_COLOR COLORTERM VISUAL EDITOR

# Without the meter of the loop, which ctest sets, a test of slow input would pass after any delay.
check_meter() {
    [ -n "${KEYTURN_LOOP_LIMIT_MS-}" ] || { echo "KEYTURN_LOOP_LIMIT_MS is not set"; exit 1; }
}

pane=it # the terminal that gets keys and whose screen is read
screen() { mux capture-pane -p -t $pane 2>/dev/null; }

good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    printf 'FAIL %s: %s\n' "$case_name" "$1"
    screen | sed 's/^/  | /'
}
check() { # what, command…
    local what=$1
    shift
    if "$@"; then good; else bad "$what"; fi
}

# Waits until the screen shows the text (or, with a !, no longer shows it).
sees() {
    local text=$1 want=0 end=$((SECONDS + wait_s))
    [ "${text:0:1}" = "!" ] && want=1 && text=${text:1}
    while :; do
        screen | grep -qF -- "$text"
        [ $? -eq $want ] && { good; return 0; }
        [ $SECONDS -ge $end ] && { bad "waited for: $1"; return 1; }
        sleep 0.05
    done
}
file_has() { # path text: waits until the file contains it
    local end=$((SECONDS + wait_s))
    until grep -qF -- "$2" "$1" 2>/dev/null; do
        [ $SECONDS -ge $end ] && { bad "$1 never had: $2"; return 1; }
        sleep 0.05
    done
    good
}
keys() { mux send-keys -t $pane "$@"; }
# On every terminal, Esc and a key right after it are Alt and that key: a person is slower.
escape() {
    keys Escape
    sleep 0.15
}
typed() { mux send-keys -t $pane -l -- "$1"; }

# A shell in a fresh terminal and a fresh home; environment settings may follow.
begin() { # case size [NAME=VALUE…]
    case_name=$1
    home=$base/${1// /_}
    local size=$2
    shift 2
    mkdir -p "$home/ws" "$home/tmp"
    mux has-session -t keep 2>/dev/null || mux new-session -d -s keep cat # a server without a session ends
    terminal it "$size" "$@"
}
# A terminal in the same home; the following steps use it.
terminal() { # name size [NAME=VALUE…]
    pane=$1
    local size=$2
    shift 2
    mux kill-session -t $pane 2>/dev/null
    mux new-session -d -s $pane -x "${size%x*}" -y "${size#*x}" -c "$home" \
        env -i PATH="$PATH" HOME="$home" TMPDIR="$home/tmp" LC_ALL=C.UTF-8 TERM="${term:-tmux-256color}" PS1='ready> ' \
        KEYTURN_FIXTURES="$source/fixtures" KEYTURN_THEMES="$source/themes" XDG_DATA_HOME="$home/data" XDG_CONFIG_HOME="$home/config" \
        XDG_STATE_HOME="$home/state" ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0 \
        ${KEYTURN_LOOP_LIMIT_MS:+KEYTURN_LOOP_LIMIT_MS=$KEYTURN_LOOP_LIMIT_MS} ${LD_PRELOAD:+LD_PRELOAD=$LD_PRELOAD} "$@" bash --norc --noprofile -i
    mux set-option -t $pane remain-on-exit on >/dev/null 2>&1
    sees 'ready>'
}
start() { # arguments of the program
    typed "$program $*; echo status=\$?"
    keys Enter
}

answer() { # step text calls
    printf '{"type":"model.responded","turn":%s,"step":%s,"text":"%s","tool_calls":[%s],"stop":"%s","usage":{"input":10,"output":5},"cost_usd":0.001,"latency_ms":%s}\n' \
        "${turn:-1}" "$1" "$2" "$3" "$([ -n "$3" ] && echo tool_use || echo end_turn)" "${latency:-1}"
}
# A model that changes two distant lines of a file, and then ends the turn.
write_model() {
    seq 1 40 >"$home/ws/numbers"
    local new
    new=$(seq 1 40 | sed 's/^3$/three/; s/^35$/thirty-five/' | tr '\n' '~' | sed 's/~/\\n/g')
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I change two lines." \
            '{"id":"c1","name":"write_file","arguments":{"path":"numbers","content":"'"$new"'"}}'
        answer 2 "${2:-That is all I had to do.}" ''
    } >"$home/$1"
}
run_write() { # extra arguments
    write_model model.jsonl
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "$*" "'change two lines'"
    sees 'waiting for approval'
    sees '[x] stage'
}

cases=("$@")
run_cases() { # names: runs the function case_NAME of each, then prints the sum
    local name
    for name in "$@"; do
        if [ ${#cases[@]} -eq 0 ] || [[ " ${cases[*]} " == *" $name "* ]]; then "case_$name"; fi
    done
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
