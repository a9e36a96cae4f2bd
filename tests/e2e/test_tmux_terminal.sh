#!/usr/bin/env bash
# Tests the terminal itself: sizes, suspending, crashes and signals, colors, locales, kinds of terminals, hostile text.
# $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

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
    sees 'waiting for approval'
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

tty_state() { # file: the output of stty, once the shell is back
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
    check "the shell has the terminal" cmp -s "$home/before" "$home/stopped"
    typed 'fg'
    keys Enter
    sees 'waiting for approval'
    keys y
    sees 'That is all I had to do.'
    escape
    keys q
    sees '!conversation' # the shell printed its status when the program stopped
    tty_state "$home/after"
    check "the terminal modes are restored" cmp -s "$home/before" "$home/after"
}

# The signals that stop a background process at the terminal, sent from outside.
stop_with() { # signal
    begin "stop_$1" 120x40
    tty_state "$home/before"
    run_write
    kill -"$1" "$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)"
    sees 'Stopped'
    tty_state "$home/stopped"
    check "the shell has the terminal" cmp -s "$home/before" "$home/stopped"
    check "the modes are off" [ "$(mux display -p -t it '#{cursor_flag}#{mouse_any_flag}#{alternate_on}')" = 100 ]
    typed 'fg'
    keys Enter
    sees 'waiting for approval'
    keys y
    sees 'That is all I had to do.'
}
case_stop_ttin() { stop_with TTIN; }
case_stop_ttou() { stop_with TTOU; }

crash_with() { # signal, status
    begin "crash_$1" 120x40
    tty_state "$home/before"
    typed "$program replay $source/fixtures/demo.jsonl; echo status=\$?"
    keys Enter
    sees '1 conversation'
    kill -"$1" "$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)"
    sees "status=$2"
    sees '!1 conversation'
    tty_state "$home/after"
    check "the terminal modes are restored" cmp -s "$home/before" "$home/after"
    check "the cursor is visible" [ "$(mux display -p -t it '#{cursor_flag}#{mouse_any_flag}#{alternate_on}')" = 100 ]
}

case_crash_segv() { crash_with SEGV 139; }
case_crash_abrt() { crash_with ABRT 134; }
case_kill_term() { crash_with TERM 143; }
case_kill_hup() { crash_with HUP 129; }

# Every other signal that ends a program: the terminal is restored, and the status still names the signal.
case_kill_quit() { crash_with QUIT 131; }
case_kill_trap() { crash_with TRAP 133; }
case_kill_usr1() { crash_with USR1 138; }
case_kill_usr2() { crash_with USR2 140; }
case_kill_alrm() { crash_with ALRM 142; }
case_kill_stkflt() { crash_with STKFLT 144; }
case_kill_xcpu() { crash_with XCPU 152; }
case_kill_vtalrm() { crash_with VTALRM 154; }
case_kill_prof() { crash_with PROF 155; }
case_kill_io() { crash_with IO 157; }
case_kill_pwr() { crash_with PWR 158; }
case_kill_sys() { crash_with SYS 159; }
case_kill_realtime() { crash_with 40 168; }

# A file at its size limit is an error of the write, not the end of the program.
case_kill_xfsz() {
    begin kill_xfsz 120x40
    start replay "$source/fixtures/demo.jsonl"
    sees '1 conversation'
    kill -XFSZ "$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)"
    keys q
    sees 'status=0'
}

# During a question: the turn is canceled, the journal closed, nothing written, the terminal restored.
case_kill_asking() {
    begin kill_asking 120x40
    tty_state "$home/before"
    run_write
    kill -TERM "$(pgrep -s "$(mux display -p -t it '#{pane_pid}')" -x keyturn | head -1)"
    sees 'status=143'
    tty_state "$home/after"
    check "the terminal modes are restored" cmp -s "$home/before" "$home/after"
    check "no file was written" grep -qx 3 "$home/ws/numbers"
    check "the turn was canceled" grep -q '"status":"cancelled"' "$home/rec.jsonl"
    check "the journal is complete" grep -q session.ended "$home/rec.jsonl"
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
    check "no text direction was changed" bash -c "! grep -qaF \$'\\342\\200\\256' '$home/raw'"
}

# Keys that could begin an escape sequence which never comes: the keys after them work.
case_alt_keys() {
    local bytes
    for bytes in '1b 5d' '1b 50' '1b 58' '1b 5e' '1b 5f' '1b 5b' '1b 4f'; do
        begin "alt_${bytes// /}" 120x40
        run_write
        keys -H $bytes
        sleep 0.2
        keys n
        sees 'That is all I had to do.'
        check "no file was written" grep -qx 3 "$home/ws/numbers"
    done
}

# No key sends the control that begins a string. A terminal that sends it does not lock the keyboard for good.
case_unended_string() {
    begin unended_string 120x40
    run_write
    keys -H c2 9d
    keys n
    sleep 1.2
    keys n
    sleep 0.2
    keys n
    sees 'That is all I had to do.'
    check "no file was written" grep -qx 3 "$home/ws/numbers"
    keys -H 1b 5d 78
    keys C-c
    keys C-c
    sees 'status=130'
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

colors_of() { # of the program's output: waits for the first frame
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
    check "no color" bash -c "! grep -qaE \$'\\033\\\\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7])(;[0-9;]*)?m' '$home/raw'"
}

case_truecolor() {
    begin truecolor 120x40 COLORTERM=truecolor
    colors_of "--theme solarized"
    check "24-bit colors" grep -qaE $'\033\\[[34]8;2;' "$home/raw"
}

case_terminals() {
    local name
    for name in screen linux xterm-16color xterm tmux xterm-256color; do
        infocmp "$name" >/dev/null 2>&1 || continue
        term=$name
        begin "terminal_$name" 120x40
        start replay --until 100 "$source/fixtures/demo.jsonl"
        sees '1 conversation'
        sees 'src/lines.py'
        keys Down
        keys q
        sees 'status=0'
        check "no text of it is left" bash -c "! tmux -S '$base/socket' capture-pane -p -t it | grep -q 'conversation\|all keys'"
        term=
    done
}

# Terminals whose description is still at its installed path.
case_terminals_undescribed() {
    local name
    for name in xterm-kitty alacritty foot xterm-ghostty tmux-unheard-of; do
        term=$name
        begin "undescribed_$name" 120x40
        start replay --until 100 "$source/fixtures/demo.jsonl"
        sees '1 conversation'
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
    check "the screen is intact" bash -c "! tmux -S '$base/socket' capture-pane -p -t it | grep -q stray"
    keys n
    sees 'That is all'
}

run_cases resize small tiny suspend stop_ttin stop_ttou crash_segv crash_abrt kill_term kill_hup kill_quit kill_trap \
    kill_usr1 kill_usr2 kill_alrm kill_stkflt kill_xcpu kill_vtalrm kill_prof kill_io kill_pwr kill_sys kill_realtime \
    kill_xfsz kill_asking hostile alt_keys unended_string c_locale \
    no_color truecolor terminals terminals_undescribed stray_stderr
