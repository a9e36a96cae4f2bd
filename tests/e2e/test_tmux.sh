#!/usr/bin/env bash
# The real program in a real terminal emulator. $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

case_approve_hunks() {
    begin approve_hunks 120x40
    run_write
    sees 'hunk 1 of 2'
    keys ']'
    sees 'hunk 2 of 2'
    keys Space
    sees 'drop'
    sees 'approve 1 of 2 hunks'
    keys y
    sees 'That is all I had to do.'
    check "the kept hunk was written" grep -qx three "$home/ws/numbers"
    check "the dropped one was not" grep -qx 35 "$home/ws/numbers"
    check "by key" grep -q '"decision":"partial","by":"key"' "$home/rec.jsonl"
}

case_neither_enter_nor_space() {
    begin neither_enter_nor_space 120x40
    run_write
    keys Enter
    escape
    keys Space
    keys Space
    sees 'waiting for you'
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
    printf '#!/bin/sh\nsed -i "s/three/THREE/" "$1"\n' >"$home/editor"
    chmod +x "$home/editor"
    typed "export EDITOR=$home/editor"
    keys Enter
    run_write
    keys e
    sees 'THREE'
    keys y
    file_has "$home/rec.jsonl" '"decision":"edited"'
    sees 'That is all I had to do.'
    check "what the editor left was written" grep -qx THREE "$home/ws/numbers"
}

case_editor_fails() {
    begin editor_fails 120x40 EDITOR=false
    run_write
    keys e
    sees 'failed'
    sees 'waiting for you'
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
    keys y
    sees 'That is all I had to do.'
    escape
    keys u
    sees 'Undo'
    keys y
    file_has "$home/rec.jsonl" 'write.undone'
    check "the old bytes are back" grep -qx 3 "$home/ws/numbers"
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
    sees 'waiting for you'
    sees 'keep'
    check "keys that were typed before did not answer" bash -c "! grep -q write.decided '$home/rec.jsonl'"
    keys y
    file_has "$home/rec.jsonl" '"decision":"approved"'
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

case_resize() {
    begin resize 120x40
    run_write
    mux resize-window -t it -x 80 -y 24
    sees 'y approve'
    sees 'hunk 1 of 2'
    mux resize-window -t it -x 50 -y 10
    sees '60'
    mux resize-window -t it -x 200 -y 60
    sees '5 budget'
    sees 'waiting for you'
    keys y
    sees 'That is all I had to do.'
}

case_small() {
    begin small 80x24
    run_write
    sees 'y approve'
    keys z
    sees '!budget'
    keys z
    keys y
    sees 'That is all'
    escape
    keys q
    sees 'status=0'
}

case_tiny() {
    begin tiny 50x12
    start replay "$source/fixtures/demo.jsonl"
    sees '60'
    keys q
    sees 'status=0'
}

tty_state() { # file: what stty says, once the shell is back
    typed "stty -a >$1; echo said"
    keys Enter
    file_has "$1" 'intr'
}

case_suspend() {
    begin suspend 120x40
    tty_state "$home/before"
    run_write
    keys C-z
    sees 'Stopped'
    tty_state "$home/stopped"
    check "the terminal is the shell's" cmp -s "$home/before" "$home/stopped"
    typed 'fg'
    keys Enter
    sees 'waiting for you'
    keys y
    sees 'That is all I had to do.'
    escape
    keys q
    sees '!conversation' # the shell said its status when it was stopped
    tty_state "$home/after"
    check "the terminal is as it was" cmp -s "$home/before" "$home/after"
}

crash_with() { # signal, status
    begin "crash_$1" 120x40
    tty_state "$home/before"
    typed "$program replay $source/fixtures/demo.jsonl & fg; echo status=\$?"
    keys Enter
    sees '1 conversation'
    kill -"$1" "$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)"
    sees "status=$2"
    sees '!1 conversation'
    tty_state "$home/after"
    check "the terminal is as it was" cmp -s "$home/before" "$home/after"
    check "the cursor is back" [ "$(mux display -p -t it '#{cursor_flag}#{mouse_any_flag}#{alternate_on}')" = 100 ]
}
case_crash_segv() { crash_with SEGV 139; }
case_crash_abrt() { crash_with ABRT 134; }
case_kill_term() { crash_with TERM 143; }
case_kill_hup() { crash_with HUP 129; }

# In the middle of a question: the turn is cancelled, the journal closed, nothing written, the terminal given back.
case_kill_asking() {
    begin kill_asking 120x40
    tty_state "$home/before"
    run_write
    kill -TERM "$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)"
    sees 'status=143'
    tty_state "$home/after"
    check "the terminal is as it was" cmp -s "$home/before" "$home/after"
    check "nothing was written" grep -qx 3 "$home/ws/numbers"
    check "the turn was cancelled" grep -q '"status":"cancelled"' "$home/rec.jsonl"
    check "the journal is whole" grep -q session.ended "$home/rec.jsonl"
}

case_quit_asks() {
    begin quit_asks 120x40
    run_write
    keys q
    sees 'Cancel it and quit?'
    keys Enter
    sees 'Cancel it and quit?'
    keys n
    sees '!Cancel it and quit?'
    keys q
    sees 'Cancel it and quit?'
    keys y
    sees 'status=130'
    check "nothing was written" grep -qx 3 "$home/ws/numbers"
    check "the journal is whole" grep -q session.ended "$home/rec.jsonl"
}

case_cancel() {
    begin cancel 120x40
    run_write
    keys C-c
    sees 'cancelled'
    file_has "$home/rec.jsonl" '"status":"cancelled"'
    check "nothing was written" grep -qx 3 "$home/ws/numbers"
    keys C-c
    sees 'status=130'
}

case_second_prompt() {
    begin second_prompt 120x40
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "First answer." ''
        turn=2 answer 1 "Second answer." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl
    sees 'conversation'
    typed 'say something'
    keys Enter
    sees 'First answer.'
    typed 'and again'
    keys Enter
    sees 'Second answer.'
    escape
    keys q
    sees 'status=0'
    check "two turns" [ "$(grep -c '"type":"turn.finished"' "$home/rec.jsonl")" = 2 ]
}

case_step() {
    begin step 120x40
    write_model model.jsonl
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl --step "'change two lines'"
    sees 'before model'
    keys s
    file_has "$home/rec.jsonl" '"gate":"after answer"'
    escape
    keys c
    sees 'waiting for you'
    keys n
    sees 'That is all'
}

case_replay_keys() {
    begin replay_keys 120x40
    start replay "$source/fixtures/demo.jsonl"
    sees 'event 2 of'
    keys l
    sees 'event 3 of'
    keys Right
    sees 'event 4 of'
    keys h
    sees 'event 3 of'
    keys L
    keys L
    sees 'step 2'
    keys H
    sees 'step 1'
    keys w
    sees 'edit_file'
    sees '6 write'
    keys +
    sees '2x'
    keys -
    keys -
    sees '0.5x'
    keys G
    sees 'event 200 of 200'
    keys g
    sees 'event 1 of 200'
    keys G
    keys x
    sees 'no error'
    typed ':goto 100'
    keys Enter
    sees 'event 100 of 200'
    typed ':goto 99999'
    keys Enter
    sees 'The recording ends before that'
    sees 'event 200 of 200'
    typed ':goto 3600s'
    keys Enter
    sees 'its last event, 200 at'
    keys b
    sees 'F goes on live from here'
    typed ':goto 100'
    keys Enter
    sees 'event 100 of 200'
    typed ':speed 64'
    keys Enter
    keys Space
    sees 'event 200 of 200'
    keys q
    sees 'status=0'
}

case_fork() {
    begin fork 120x40
    start replay "$source/fixtures/write-denied.jsonl"
    sees 'event'
    cp "$source/fixtures/write-denied.jsonl" "$home/before.jsonl"
    keys G
    keys F
    sees 'forked'
    check "a new session is there" bash -c "ls '$home'/data/keyturn/sessions/*.jsonl >/dev/null"
    check "the recording is as it was" cmp -s "$home/before.jsonl" "$source/fixtures/write-denied.jsonl"
    escape
    keys q
    sees 'status='
}

case_execute() {
    begin execute 120x40
    start replay --execute --speed 0 "$source/fixtures/parallel-reads.jsonl"
    sees 'as it was recorded'
    escape
    keys q
    sees 'status=0'
}

case_search_and_filter() {
    begin search_and_filter 120x40
    start replay --until 100 "$source/fixtures/demo.jsonl"
    sees 'event 100 of'
    keys 2
    sees '[2 events]'
    typed '/waves'
    keys Enter
    sees 'waves.planned'
    keys f
    typed 'tool.started'
    keys Enter
    sees '!model.delta'
    sees 'tool.started'
    keys 1
    keys f
    typed 'interface'
    sees '1 message · interface'
    keys Enter
    keys 5
    keys f
    typed 'tokens'
    keys Enter
    sees '2 of 8 · tokens'
    keys 4
    typed '/model'
    keys Enter
    keys q
    sees 'status=0'
}

case_help_and_theme() {
    begin help_and_theme 120x40
    start replay "$source/fixtures/demo.jsonl"
    sees 'event 2 of'
    keys '?'
    sees 'Play or pause'
    escape
    sees '!Play or pause'
    keys T
    sees 'theme '
    typed ':theme mono'
    keys Enter
    sees 'theme mono'
    keys z
    sees '!5 budget'
    keys z
    sees '5 budget'
    keys q
    sees 'status=0'
}

case_mouse() {
    begin mouse 120x40
    start replay --until 100 "$source/fixtures/demo.jsonl"
    sees '[1 conversation]'
    typed $'\033[<0;80;6M'
    typed $'\033[<0;80;6m'
    sees '[3 tools]'
    typed $'\033[<64;20;6M'
    typed $'\033[1;99q'
    keys 1
    sees '[1 conversation]'
    keys q
    sees 'status=0'
}

case_hostile() {
    begin hostile 120x40
    {
        echo '{"type":"session.started","v":1}'
        echo '{"type":"turn.started","turn":1,"prompt":"show \u001b]0;owned\u0007\u001b[2J\u001b[31mred \u202egnp.exe"}'
        answer 1 'text \u001b[?1049l\u001b]52;c;b3duZWQ=\u0007 end \u009b31m' ''
        echo '{"type":"turn.finished","turn":1,"status":"done","text":"\u001b[5mblink"}'
    } >"$home/hostile.jsonl"
    mux pipe-pane -t it "cat >$home/raw"
    start replay --until 4 hostile.jsonl
    sees 'U+202E'
    sees '^[[2J'
    sees '^[]52'
    check "no title was set" [ "$(mux display -p -t it '#{pane_title}')" != owned ]
    keys q
    sees 'status=0'
    mux pipe-pane -t it
    check "no clipboard was written" bash -c "! grep -qaF \$'\\033]52' '$home/raw'"
    check "nothing blinks" bash -c "! grep -qaF \$'\\033[5m' '$home/raw'"
    check "no direction was turned" bash -c "! grep -qaF \$'\\342\\200\\256' '$home/raw'"
}

case_c_locale() {
    begin c_locale 120x40
    typed "export LC_ALL=C"
    keys Enter
    start replay --until 100 "$source/fixtures/demo.jsonl"
    sees '1 conversation'
    check "only ASCII" bash -c "! tmux -S '$base/socket' capture-pane -p -t it | LC_ALL=C grep -q '[^ -~]'"
    keys q
    sees 'status=0'
}

colors_of() { # of what the program sends: waits for the first frame
    mux pipe-pane -t it "cat >$home/raw"
    start replay --until 100 "$source/fixtures/demo.jsonl" "${1-}"
    sees '5 budget'
    keys q
    sees 'status=0'
    mux pipe-pane -t it
}

case_no_color() {
    begin no_color 120x40 NO_COLOR=1
    colors_of
    check "no colour" bash -c "! grep -qaE \$'\\033\\\\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7])(;[0-9;]*)?m' '$home/raw'"
}

case_truecolor() {
    begin truecolor 120x40 COLORTERM=truecolor
    colors_of "--theme solarized"
    check "24 bits" grep -qaE $'\033\\[[34]8;2;' "$home/raw"
}

case_terminals() {
    local name
    for name in screen linux xterm-16color xterm tmux xterm-256color; do
        infocmp "$name" >/dev/null 2>&1 || continue
        term=$name
        begin "terminal_$name" 120x40
        start replay --until 100 "$source/fixtures/demo.jsonl"
        sees '1 conversation'
        sees 'src/lines.c'
        keys Down
        keys q
        sees 'status=0'
        term=
    done
}

case_stray_stderr() {
    begin stray_stderr 120x40
    run_write
    local pid
    pid=$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)
    echo 'stray words' >"/proc/$pid/fd/2"
    file_has "$home/state/keyturn/log" 'stray words'
    check "the screen is whole" bash -c "! tmux -S '$base/socket' capture-pane -p -t it | grep -q stray"
    keys n
    sees 'That is all'
}

case_start_screen() {
    begin start_screen 120x40
    start
    sees 'What should the agent do here?'
    sees 'parallel-reads'
    escape
    keys C-c
    keys C-c
    sees 'status='
}

case_demo() {
    begin demo 120x40
    start demo --record rec.jsonl
    sees 'A recorded model'
    sees 'waiting for you'
    sees 'Hunk 2 is not needed'
    keys ']'
    keys Space
    sees '1 of 2 hunks'
    keys y
    sees '!Hunk 2 is not needed'
    sees 'CHANGELOG.md'
    sees 'waiting for you'
    keys y
    file_has "$home/rec.jsonl" '"type":"turn.finished"'
    check "it is done" grep -q '"status":"done"' "$home/rec.jsonl"
    sees 'Done.'
    escape
    keys q
    sees 'status=0'
    check "no folder stays behind" [ -z "$(ls -A "$home/tmp")" ]
}

run_cases approve_hunks neither_enter_nor_space deny deny_with_reason edit editor_fails allow undo ask_timeout early_keys \
    paste_answers_nothing resize small tiny suspend crash_segv crash_abrt kill_term kill_hup kill_asking \
    quit_asks cancel second_prompt step \
    replay_keys fork execute search_and_filter help_and_theme mouse hostile c_locale no_color truecolor terminals \
    stray_stderr start_screen demo
