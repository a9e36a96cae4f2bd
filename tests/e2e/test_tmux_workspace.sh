#!/usr/bin/env bash
# Tests the workspace of a session in a real terminal, with real programs: the view of many files, of files being
# written, and of a removed workspace. $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

model() { # command [more arguments]
    echo '{"type":"session.started","v":1}'
    answer 1 "I run it." '{"id":"c1","name":"workspace_exec","arguments":{"command":"'"$1"'"'"${2:-}"'}}'
    answer 2 "It has run." ''
}
run_model() {
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "$@" "'run it'"
}
limit() { # MB
    mkdir -p "$home/config/keyturn"
    printf '{"workspace": {"max_disk_mb": %s}}' "$1" >"$home/config/keyturn/config.json"
}
states() { grep -c '"type":"workspace.state"' "$home/rec.jsonl"; }

# One folder with many files hides no other, and the limit is shown as configured.
case_many() {
    begin many 120x40
    limit 20
    model 'mkdir src build; for i in $(seq 600); do head -c 830 /dev/zero > src/$i.c; done; head -c 5000000 /dev/zero > out/result.txt; head -c 9000000 /dev/zero > build/app; mkfifo out/pipe' >"$home/model.jsonl"
    run_model
    sees 'It has run.'
    escape
    keys 7 z
    sees '14 MB / 20 MB'
    check "out" eval 'screen | grep -qE "out/ +4\.8 MB"'
    check "build" eval 'screen | grep -qE "build/ +8\.6 MB"'
    check "src" eval 'screen | grep -qE "src/ +486 KB"'
    sees 'pipe  pipe'
    keys PageDown PageDown PageDown PageDown
    sees '… 500 more'
    # By its path, which is shown and copied.
    keys f
    typed 'src/13.c'
    keys Enter
    sees 'src/13.c  '
    keys Y
    sees 'Copied the path, 8 bytes'
    keys q
    sees 'status=0'
}

# The workspace exists while the first command runs, and its files appear before it ends.
case_first() {
    begin first 80x24
    model 'echo begun; sleep 1; head -c 3000000 /dev/zero > out/part; sleep 60' >"$home/model.jsonl"
    run_model
    sees 'begun'
    keys 7
    sees '!No workspace yet.'
    sees 'out/'
    sees '2.9 MB / 2 GB'
    sees '!It has run.'
    keys C-c
    sees 'The turn was canceled'
    sees 'end   cancel'
    keys q
    sees 'status='
}

# A background program fills the disk, and the view shows it.
case_grows() {
    begin grows 120x40
    limit 200
    model 'for i in $(seq 24); do sleep 0.5; head -c 1500000 /dev/zero >> out/log; done' ',"background":true' >"$home/model.jsonl"
    run_model
    sees 'It has run.'
    escape
    keys 7
    sees '/ 200 MB'
    local seen
    seen=$(screen | grep -o 'disk .*')
    check "it grows" eval 'for i in $(seq 200); do [ "$(screen | grep -o "disk .*")" != "$seen" ] && break; sleep 0.05; done; [ $i -lt 200 ]'
    seen=$(screen | grep -o 'disk .*')
    check "and grows" eval 'for i in $(seq 200); do [ "$(screen | grep -o "disk .*")" != "$seen" ] && break; sleep 0.05; done; [ $i -lt 200 ]'
    check "but not too often" test "$(states)" -lt 20
    sees 'exit 0'
    sees '34 MB / 200 MB'
    keys q
    sees 'status=0'
}

# A resumed session no longer has its old workspace.
case_gone() {
    begin gone 120x40
    model 'echo text > out/mine' >"$home/model.jsonl"
    run_model
    sees 'It has run.'
    escape
    keys 7
    sees 'mine'
    keys q
    sees 'status=0'
    mux clear-history -t $pane
    typed clear
    keys Enter
    start replay rec.jsonl
    sees 'read only'
    keys G 7
    sees 'deleted with its session'
    sees '!mine'
    keys Enter
    sees 'mine'
    keys q
    sees 'status=0'
}

run_cases many first grows gone
