#!/usr/bin/env bash
# Tests calls that run programs, in a real terminal: how they ended, their output, and the artifact with all of it. $1
# is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

exec_call() { # id command [more arguments]
    printf '{"id":"%s","name":"workspace_exec","arguments":{"command":"%s"%s}}' "$1" "$2" "${3:+,$3}"
}
run_calls() { # calls
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I run them." "$1"
        answer 2 "They all ran." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "${2:-}" "'run them'"
}

case_ends() {
    begin ends 120x40
    run_calls "$(exec_call c1 'exit 3'),$(exec_call c2 'sleep 60' '"timeout_sec":1'),$(exec_call c3 'kill -SEGV $$'),$(
        exec_call c4 true),{\"id\":\"c5\",\"name\":\"run_code\",\"arguments\":{\"code\":\"raise SystemExit(4)\"}}"
    sees 'They all ran.'
    escape
    keys 3 z
    sees 'exit 3    '
    sees 'timed out '
    sees 'signal 11 '
    sees 'exit 4    '
    sees 'done    '
    keys 4
    sees '[4 waves]'
    sees ' signal 11 '
    escape
    keys q
    sees 'status=0'
    check "only the programs failed" [ "$(grep -c '"outcome":"result"' "$home/rec.jsonl")" = 5 ]
    start replay rec.jsonl
    sees 'read only'
    keys g x x x 3 z
    sees 'signal 11 '
    sees '!exit 4'
    keys x
    sees 'exit 4'
    keys x
    sees 'no error after this'
    keys q
    sees 'status=0'
}

# All of a long output is in an artifact, which its call shows; the shortened text in the pane unfolds at once.
case_long_output() {
    begin long_output 120x40
    run_calls "$(exec_call c1 'seq 1 300000')"
    sees 'They all ran.'
    escape
    keys 3 z o
    sees '… stdout  '
    keys o
    sees '!… stdout  '
    keys Enter
    sees '[1 pretty]'
    keys 2
    sees '[2 text]'
    sees 'line 1 of 300,000'
    keys G
    sees '300000'
    keys 2
    sees 'command: seq 1 300000'
    keys Enter
    sees '![2 text]'
    keys q
    sees 'status=0'
    start replay rec.jsonl
    sees 'read only'
    keys G
    sees 'They all ran.'
    keys 3 Enter
    sees '[1 pretty]'
    keys 2
    sees 'line 1 of 300,000'
    keys Enter q
    sees 'status=0'
}

case_engines() {
    begin engines 120x40
    echo '{"workspace":{"engine":"none"}}' >"$home/none.json"
    run_calls "$(exec_call c1 true)" '--config none.json'
    sees 'waiting for approval'
    sees 'programs none UNSAFE   '
    sees 'programs none UNSAFE · 1 call'
    keys y
    sees 'They all ran.'
    escape
    keys q
    sees 'status=0'
}

run_cases ends long_output engines
