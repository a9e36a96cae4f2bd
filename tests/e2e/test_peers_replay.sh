#!/usr/bin/env bash
# Tests hostile recordings in a real terminal: for any content the workbench reads keys and can be left. ctest sets the
# meter of the loop, so a callback that takes too long aborts the program. $1 is the program, $2… the cases.
set -u
tests=$(readlink -f "$(dirname "$0")")
. "$tests/terminal.sh"
check_meter

shows() { # kind
    begin "$1" 120x40
    python3 "$tests/hostile_recording.py" "$1" >"$home/r.jsonl"
    start replay r.jsonl
    sees 'r.jsonl'
    for key in G 1 G z z; do keys $key; done
    for key in / x Enter n n N g n N 2 G Enter Tab Tab Tab / x Enter n N; do keys $key; done
    escape
    keys Up Enter Tab Tab Tab
    escape
    for key in 3 G Enter; do keys $key; done
    escape
    for key in 4 5 6 7 g x w H L Space G; do keys $key; done
    escape
    # A program that is busy for longer than the pause reads Esc and q in one piece, which is Alt-q: press it again.
    for _ in 1 2 3; do
        keys q
        left_within 6 && break
    done
    sees 'status=0'
}
left_within() { # seconds
    local end=$((SECONDS + $1))
    until screen | grep -qF 'status=0'; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}
for kind in events:100000 line:3 line:11 line:64 newlines:2 newlines:7 deep:300000 calls:10000 started:10000 same:50000 \
    output:100000 diff:50000 arguments:600000 ended:1000000 marks:950000 word:1900000; do
    shows $kind
done

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
