#!/usr/bin/env bash
# Sessions that are continued in a real terminal: the same journal, the same conversation, named, found and watched.
# $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

# A session with one turn that writes one file. The next process gets a model with one answer.
session() { # name of the case, size
    begin "$1" "$2"
    printf 'old\n' >"$home/ws/a.txt"
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I write." '{"id":"c1","name":"write_file","arguments":{"path":"a.txt","content":"new\n"}}'
        answer 2 "The first turn is done." ''
    } >"$home/model.jsonl"
    mkdir -p "$home/config/keyturn"
    printf '{"model": "m", "models": {"m": {"provider": "scripted", "file": "%s"}}, "question_grace_ms": 0}' \
        "$home/model.jsonl" >"$home/config/keyturn/config.json"
    typed 'cd ws'
    keys Enter
    start run "'first prompt'"
    sees 'waiting for approval'
    keys y
    sees 'The first turn is done.'
    escape
    keys q
    sees 'status=0'
    journal=$(ls "$home"/data/keyturn/sessions/*.jsonl)
    id=$(basename "$journal" .jsonl)
    # A recorded model begins at its first answer in each process.
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "The second turn is done." ''
    } >"$home/model.jsonl"
}
leave() {
    escape
    keys q
    sees 'status=0'
}
clear_screen() {
    typed clear
    keys Enter
    sees '!status='
}

case_continue() {
    session continue 140x30
    sees "Session $id: 1 file changed: a.txt. Resume: keyturn -c, or keyturn resume $id"
    check "one journal" [ "$(ls "$home/data/keyturn/sessions" | wc -l)" = 1 ]
    clear_screen
    start -c
    sees 'The first turn is done.'
    leave
    check "it was resumed" [ "$(grep -c '"type":"session.resumed"' "$journal")" = 1 ]
    check "and it ended again" [ "$(tail -n 1 "$journal" | grep -c '"session.ended"')" = 1 ]
    clear_screen
    start -c "'second prompt'"
    sees 'The first turn is done.'
    sees 'The second turn is done.'
    sees 'turn 2'
    leave
    check "still one journal" [ "$(ls "$home/data/keyturn/sessions" | wc -l)" = 1 ]
    check "numbers go on" python3 -c 'import json,sys
seqs=[json.loads(line)["seq"] for line in open(sys.argv[1])]
sys.exit(seqs != list(range(1, len(seqs) + 1)))' "$journal"
    # The write of the first turn can still be undone.
    clear_screen
    start -c
    sees 'The second turn is done.'
    escape
    keys u y
    file_has "$home/ws/a.txt" old
    leave
    sees 'no file changed'
    (cd "$home" && mkdir other && cd other && HOME=$home XDG_DATA_HOME=$home/data XDG_CONFIG_HOME=$home/config \
        "$program" -c next >"$home/out" 2>&1)
    check "another folder has no session" grep -q 'no session in ~/other yet' "$home/out"
}

case_name_and_find() {
    session name_and_find 140x30
    clear_screen
    start -c
    sees 'The first turn is done.'
    escape
    keys :
    typed 'name lines of numbers'
    keys Enter
    sees 'Named: lines of numbers.'
    keys i
    typed 'what about zebras'
    keys Enter
    sees 'The second turn is done.'
    leave
    sees "Session lines of numbers ($id)"
    clear_screen
    start resume "'Lines of Numbers'"
    sees 'The second turn is done.'
    leave
    clear_screen
    start resume "${id:0:13}"
    sees 'The second turn is done.'
    leave
    clear_screen
    start resume zebra
    sees 'The second turn is done.'
    leave
    clear_screen
    start run "'a second session with zebras'"
    sees 'The second turn is done.'
    leave
    clear_screen
    start resume zebras
    sees 'lines of numbers'
    sees 'a second session with zebras'
    sees 'resume'
    keys Down Enter
    sees 'The second turn is done.'
    leave
    clear_screen
    start resume nothing-like-it
    sees "no session is named 'nothing-like-it' or mentions it"
    sees 'status=2'
}

case_open_elsewhere() {
    session open_elsewhere 140x30
    clear_screen
    start -c
    sees 'The first turn is done.'
    terminal second 140x30
    typed 'cd ws'
    keys Enter
    start -c
    sees 'Another keyturn is running this session.'
    sees 'The first turn is done.'
    pane=it
    typed 'second prompt'
    keys Enter
    sees 'The second turn is done.'
    pane=second
    sees 'The second turn is done.'
    pane=it
    leave
    pane=second
    sees 'The session has ended.'
    keys q
    sees 'status=0'
}

# Killed at an open question: nothing is lost, and nothing continues by itself.
case_cut_off() {
    begin cut_off 140x30
    printf 'old\n' >"$home/ws/a.txt"
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I write." '{"id":"c1","name":"write_file","arguments":{"path":"a.txt","content":"new\n"}}'
    } >"$home/model.jsonl"
    mkdir -p "$home/config/keyturn"
    printf '{"model": "m", "models": {"m": {"provider": "scripted", "file": "%s"}}, "question_grace_ms": 0}' \
        "$home/model.jsonl" >"$home/config/keyturn/config.json"
    typed 'cd ws; echo pid=$$'
    keys Enter
    start run "'first prompt'"
    sees 'waiting for approval'
    kill -KILL "$(pgrep -s "$(mux display -p -t $pane '#{pane_pid}')" -x keyturn | head -1)"
    sees 'status=137'
    keys Enter
    typed 'stty sane; reset'
    keys Enter
    sleep 0.5
    clear_screen
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I know that it was interrupted." ''
    } >"$home/model.jsonl"
    start -c
    sees 'The last turn was cut off.'
    journal=$(ls "$home"/data/keyturn/sessions/*.jsonl)
    check "no turn runs" [ "$(tail -n 1 "$journal" | grep -c '"session.resumed"')" = 1 ]
    keys c
    sees 'I know that it was interrupted.'
    leave
    check "the file is as it was" grep -q old "$home/ws/a.txt"
}

run_cases continue name_and_find open_elsewhere cut_off
