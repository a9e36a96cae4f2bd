#!/usr/bin/env bash
# Tests questions about writes in a real terminal: approve, deny, edit, allow, undo, and input that must never answer.
# $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

case_approve_hunks() {
    begin approve_hunks 120x40
    run_write
    sees 'hunk 1 of 2'
    keys ']'
    sees 'hunk 2 of 2'
    keys Space
    sees 'discard'
    sees 'approve 1 of 2 hunks'
    keys y
    sees 'That is all I had to do.'
    check "the approved hunk was written" grep -qx three "$home/ws/numbers"
    check "the discarded hunk was not" grep -qx 35 "$home/ws/numbers"
    check "by key" grep -q '"decision":"partial","by":"key"' "$home/rec.jsonl"
}

case_neither_enter_nor_space() {
    begin neither_enter_nor_space 120x40
    run_write
    keys Enter
    escape
    keys Space
    keys Space
    sees 'waiting for approval'
    check "nothing was decided" bash -c "! grep -q write.decided '$home/rec.jsonl'"
    keys y
    file_has "$home/ws/numbers" thirty-five
    check "approved" grep -q '"decision":"approved"' "$home/rec.jsonl"
}

case_deny() {
    begin deny 120x40
    run_write
    keys n
    sees 'That is all I had to do.'
    check "nothing was written" grep -qx 3 "$home/ws/numbers"
    check "denied" grep -q '"decision":"denied","by":"key"' "$home/rec.jsonl"
    escape
    keys q
    sees 'status=0'
}

case_deny_with_reason() {
    begin deny_with_reason 120x40
    run_write
    keys r
    typed 'numbers are not words'
    sees 'numbers are not words'
    keys Enter
    file_has "$home/rec.jsonl" '"reason":"numbers are not words"'
    sees 'That is all I had to do.'
}

case_edit() {
    begin edit 120x40
    printf '#!/bin/sh\ngrep SigIgn: /proc/$$/status >%s/ignored\nsed -i "s/three/THREE/" "$1"\n' "$home" >"$home/editor"
    chmod +x "$home/editor"
    typed "export EDITOR=$home/editor"
    keys Enter
    run_write
    keys e
    sees 'THREE'
    keys y
    file_has "$home/rec.jsonl" '"decision":"edited"'
    sees 'That is all I had to do.'
    check "the edited text was written" grep -qx THREE "$home/ws/numbers"
    local ignored
    ignored=$(sed 's/.*[[:space:]]//' "$home/ignored")
    check "the editor ignores neither PIPE nor XFSZ" [ $((0x$ignored & 0x1001000)) -eq 0 ]
}

# Sequences that begin with a C1 control as UTF-8: their last letter answers nothing, whole or byte by byte.
case_c1_sequences() {
    begin c1_sequences 120x40
    run_write
    local bytes byte
    for bytes in "c2 9b 79" "c2 9b 31 3b 35 79" "c2 8f 79" "c2 9d 30 3b 79 c2 9c" "c2 90 79 1b 5c" "c2 98 79 c2 9c" "c2 9e 79 c2 9c" \
        "c2 9f 79 c2 9c" "9b 79"; do
        mux send-keys -t $pane -H $bytes
        for byte in $bytes; do
            mux send-keys -t $pane -H "$byte"
            sleep 0.06
        done
    done
    keys n
    file_has "$home/rec.jsonl" '"type":"write.decided"'
    check "only the n was an answer" grep -q '"decision":"denied"' "$home/rec.jsonl"
    check "nothing was written" grep -qx 3 "$home/ws/numbers"
    sees 'That is all I had to do.'
}

case_editor_fails() {
    begin editor_fails 120x40 EDITOR=false
    run_write
    keys e
    sees 'failed'
    sees 'waiting for approval'
    keys n
    sees 'That is all I had to do.'
}

case_allow() {
    begin allow 120x40
    run_write
    keys A
    file_has "$home/rec.jsonl" '"decision":"approved"'
    file_has "$home/ws/numbers" three
    escape
    typed ':permissions'
    keys Enter
    sees 'write_file numbers'
}

case_undo() {
    begin undo 120x40
    run_write
    cp -r "$home/ws" "$home/before"
    keys y
    sees 'That is all I had to do.'
    escape
    keys u
    sees 'Undo'
    keys y
    file_has "$home/rec.jsonl" 'write.undone'
    check "the old bytes are back" grep -qx 3 "$home/ws/numbers"
    sees 'Undone: numbers. Press u to redo.'
    keys u
    sees 'Redo #1 write_file numbers'
    keys y
    file_has "$home/rec.jsonl" 'write.redone'
    sees 'Redone: numbers. Press u to undo.'
    check "the new bytes are back" grep -qx three "$home/ws/numbers"
    typed ':undo numbers'
    keys Enter
    sees 'Undo #1 write_file numbers'
    keys y
    file_has "$home/ws/numbers" 3
    sees 'undone'
    keys q
    sees 'status=0'
    XDG_DATA_HOME=$home/data "$program" sessions >"$home/list"
    check "the list says so" grep -q ' 1, 1 undone ' "$home/list"
    XDG_DATA_HOME=$home/data "$program" sessions --json >"$home/list"
    check "and as JSON" grep -q '"writes":1,"undone":1' "$home/list"
    check "a run that repeats it agrees" "$program" replay --check --workspace "$home/before" "$home/rec.jsonl"
    "$program" replay --execute --headless --workspace "$home/before" "$home/rec.jsonl" >"$home/again.jsonl" 2>&1
    check "it undoes, redoes and undoes" test "$(grep -c '"type":"write.\(un\|re\)done"' "$home/again.jsonl")" -eq 3
}

case_ask_timeout() {
    begin ask_timeout 120x40
    run_write --ask-timeout 1
    file_has "$home/rec.jsonl" '"decision":"expired"'
    sees 'That is all I had to do.'
}

case_early_keys() {
    begin early_keys 120x40
    latency=1500 write_model model.jsonl
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'change two lines'"
    sees 'conversation'
    typed 'yyyyyyyyyyyy'
    sees 'waiting for approval'
    sees '[x] stage'
    check "keys typed before the question did not answer it" bash -c "! grep -q write.decided '$home/rec.jsonl'"
    keys y
    file_has "$home/rec.jsonl" '"decision":"approved"'
}

case_fresh_question() {
    begin fresh_question 120x40
    mkdir -p "$home/config/keyturn"
    echo '{"question_grace_ms": 60000}' >"$home/config/keyturn/config.json"
    write_model model.jsonl
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'change two lines'"
    sees 'new: write_file'
    keys y
    sees 'Key ignored'
    keys ']'
    sees 'hunk 2 of 2'
    check "the question is still open" bash -c "! grep -q write.decided '$home/rec.jsonl'"
    keys q
    sees 'Cancel it and quit?'
    keys y
    sees 'status=130'
    check "nothing was written" grep -qx 3 "$home/ws/numbers"
}

case_paste_answers_nothing() {
    begin paste_answers_nothing 120x40
    run_write
    mux set-buffer -b pasted 'yyyAAA'
    mux paste-buffer -p -b pasted -t it
    keys z
    sees '!budget'
    check "pasted text did not answer" bash -c "! grep -q write.decided '$home/rec.jsonl'"
}

# A program without a sandbox: $1 is its command as JSON text.
run_command() {
    mkdir -p "$home/config/keyturn"
    printf '{"workspace": {"engine": "none", "env": {"HERE": "%s"}}}' "$home/config" >"$home/config/keyturn/config.json"
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I try it." '{"id":"c1","name":"workspace_exec","arguments":{"command":"'"$1"'"}}'
        answer 2 "That was it." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --config config/keyturn/config.json --record rec.jsonl "'try it'"
    sees 'waiting: workspace_exec'
    sees 'n deny'
}

# A command padded so that its end would be far below, with a fake end before it.
case_forged_call() {
    begin forged_call 80x24
    local padded
    padded=$(printf '%-70s%-76s%2280s; touch $HERE/owned' 'ls -l' '}' '')
    run_command "true\\n$padded"
    sees '| ls -l ┄ 65 blanks ┄ } ┄ 2,355 blanks ┄ ; touch $HERE/owned'
    sees 'y approve'
    keys n
    sees 'That was it.'
    check "it has not run" test ! -e "$home/config/owned"
}

case_unseen_call() {
    begin unseen_call 80x24
    run_command "$(seq -s '\n' -f 'echo %g' 1 30)\\ntouch \$HERE/owned"
    sees 'rows 1 to 10 of 39'
    sees 'y show 29 more rows'
    typed yy
    sees 'rows 11 to 20 of 39'
    sees 'y approve'
    check "two fast keys did not approve it" bash -c "! grep -q write.decided '$home/rec.jsonl'"
    keys G
    sees '| touch $HERE/owned'
    keys y
    sees 'That was it.'
    check "it was approved after that" grep -q '"decision":"approved","by":"key"' "$home/rec.jsonl"
    check "and has run" test -e "$home/config/owned"
}

# The head names changes that cannot be undone above those that can.
case_left_out() {
    begin left_out 80x24
    mkdir -p "$home/config/keyturn"
    echo '{"workspace": {"engine": "none"}}' >"$home/config/keyturn/config.json"
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I make it." '{"id":"c1","name":"workspace_exec","arguments":{"command":"mkdir out; echo x >out/a; mkfifo out/pipe"}}'
        answer 2 "I bring it." '{"id":"c2","name":"bring_back","arguments":{"from":"out","to":"got"}}'
        answer 3 "That was it." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --config config/keyturn/config.json --record rec.jsonl "'bring it'"
    sees 'waiting: workspace_exec'
    sees 'y approve'
    keys y
    sees 'waiting: bring_back'
    sees '1 left out: out/pipe (it is a FIFO, not a file)'
    sees 'y approve 1 hunk'
    keys y
    sees 'That was it.'
    check "the readable file was copied" grep -qx x "$home/ws/got/a"
}

# The hunk that Space would discard stays visible when its pane shrinks.
case_selected_in_sight() {
    begin selected_in_sight 120x40
    seq 1 180 >"$home/ws/numbers"
    local new
    new=$(seq 1 180 | sed 's/^\([0-9]*\)5$/\1five/' | tr '\n' '~' | sed 's/~/\\n/g')
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I change it." '{"id":"c1","name":"write_file","arguments":{"path":"numbers","content":"'"$new"'"}}'
        answer 2 "That is all I had to do." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'change it'"
    sees 'hunk 1 of'
    sees 'y approve'
    typed ']]]]]]]]]]]]]]]]]'
    sees '▸@@ line 172'
    keys z
    sees '!conversation'
    sees '▸@@ line 172'
    keys z
    sees 'conversation'
    sees '▸@@ line 172'
    mux resize-window -t it -x 80 -y 24
    sees ' y approve all'
    sees '▸@@ line 172'
    keys Space
    sees '[ ] discard'
    keys n
    sees 'That is all I had to do.'
}

# A question names the target of a link, why it is protected, and what the write cannot keep. A allows nothing.
case_protected() {
    begin protected 120x40
    mkdir -p "$home/ws/.git/hooks"
    printf 'make\n' >"$home/ws/.git/hooks/pre-commit"
    chmod 4755 "$home/ws/.git/hooks/pre-commit"
    ln -s .git/hooks "$home/ws/docs"
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I change it." \
            '{"id":"c1","name":"write_file","arguments":{"path":"docs/pre-commit","content":"make check\n"}}'
        answer 2 "That is all I had to do." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl --approve allow "'write it'"
    sees 'waiting for approval'
    sees 'write_file  .git/hooks/pre-commit'
    sees 'protected: git runs the files in it'
    sees 'via link docs/pre-commit'
    sees 'loses: setuid'
    keys A
    sees 'is protected: A cannot allow it'
    check "nothing was decided" bash -c "! grep -q write.decided '$home/rec.jsonl'"
    keys y
    sees 'That is all I had to do.'
    check "written to the shown path" grep -qx 'make check' "$home/ws/.git/hooks/pre-commit"
    check "by key" grep -q '"decision":"approved","by":"key"' "$home/rec.jsonl"
}

run_cases approve_hunks neither_enter_nor_space deny deny_with_reason c1_sequences edit editor_fails allow undo ask_timeout \
    early_keys fresh_question paste_answers_nothing forged_call unseen_call left_out selected_in_sight protected
