#!/usr/bin/env bash
# Tests programs and their workspace in a real terminal, from hand-written recordings: their output, their files, and
# that only text of them reaches the terminal. $1 is the program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"
recordings=$source/tests/screens/cases

replay_to_end() { # recording
    start replay "$recordings/$1"
    sees 'read only'
    keys G
}

case_workspace() {
    begin workspace 120x40
    replay_to_end workspace/workspace.jsonl
    sees '(7 workspace)'
    keys 7
    sees '[7 workspace (4 waves)]'
    sees '78 KB / 256 KB'
    sees 'p1 python3 report.py --watch'
    keys z
    sees 'from v2 artifact://measurements.csv, copy'
    sees 'saved as v0 report.md'
    # Folded and unfolded again.
    keys j j j Enter
    sees '!plotting/'
    keys Enter
    sees 'plotting/'
    # The details of one.
    keys /
    typed 'measurements'
    keys Enter Enter
    sees 'staged from'
    sees 'version: 2'
    escape
    sees '!staged from'
    keys z 4
    sees '[4 waves (7 workspace)]'
    # Before anything was staged, the pane is empty.
    keys g 7
    sees 'No workspace yet.'
    keys q
    sees 'status=0'
}

case_program() {
    begin program 80x24
    replay_to_end workspace/workspace.jsonl
    keys t
    sees '[program p1]'
    sees '412 rows, 3 without a value'
    sees '!50 %'
    keys Tab
    sees '[program p2]'
    sees 'Title? Rain in November'
    sees 'exit 0'
    keys i
    sees 'Recorded program'
    keys Enter
    sees '[#3 workspace_exec]'
    escape
    sees '[program p2]'
    escape
    sees '![program p2]'
    # By its row, and by its name.
    keys 3 k Enter
    sees '[program p2]'
    escape
    keys :
    typed 'program p1'
    keys Enter
    sees '[program p1]'
    mux resize-window -t $pane -x 120 -y 40
    sees '1 of 2 programs'
    escape
    keys q
    sees 'status=0'
}

case_long() {
    begin long 80x24
    replay_to_end program-long/long.jsonl
    keys t
    sees 'error: no title'
    keys PageUp
    sees 'scrolled'
    sees '!error: no title'
    keys G
    sees 'error: no title'
    sees '!scrolled'
    keys /
    typed 'obj/77.o'
    keys Enter
    sees 'cc -o obj/77.o'
    escape
    keys q
    sees 'status=0'
}

# Titles, the clipboard, colors, the alternate screen: a program may print any sequence.
case_hostile() {
    begin hostile 80x24
    mux set-option -g allow-passthrough on >/dev/null 2>&1
    mux set-option -g set-clipboard on >/dev/null
    replay_to_end workspace-hostile/hostile.jsonl
    keys t
    sees 'after!'
    sees 'still here'
    sees '^[[31mtyped^[[0m'
    escape
    keys 7 z
    sees '^[[31mred^[[2J'
    sees 'keyturn  replay hostile'
    check "no title was set" [ "$(mux display-message -p -t $pane '#{pane_title}')" != owned ]
    check "no clipboard was written" bash -c "! '$(command -v tmux)' -S '$base/socket' show-buffer 2>/dev/null | grep -q hello"
    keys q
    sees 'status=0'
}

# Without a sandbox a program is shown in full and needs approval; a denied one does not run.
case_no_walls() {
    begin no_walls 120x40
    mkdir -p "$home/config/keyturn"
    printf '{"workspace": {"engine": "none", "env": {"HERE": "%s"}}}' "$home/config" >"$home/config/keyturn/config.json"
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I try it." '{"id":"c1","name":"workspace_exec","arguments":{"command":"true\ntouch $HERE/one"}}'
        answer 2 "And this." '{"id":"c2","name":"run_code","arguments":{"language":"bash","code":"# Makes another.\ntouch $HERE/two"}}'
        answer 3 "That was it." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --config config/keyturn/config.json --record rec.jsonl "'try it'"
    sees 'approval: workspace_exec'
    sees '| touch $HERE/one'
    sees 'No sandbox: this command can change your files.'
    sees 'y approve'
    check "no program has run" test ! -e "$home/config/one"
    keys y
    sees 'waiting for approval: run_code'
    sees '| touch $HERE/two'
    sees 'y approve'
    check "the allowed program has run" test -e "$home/config/one"
    keys n
    sees 'That was it.'
    check "the denied program has not" test ! -e "$home/config/two"
    escape
    keys q
    sees 'status=0'
}

# The user types into running programs: lines, the end of the input, an interrupt.
case_typing() {
    begin typing 80x24
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "Two to talk with." '{"id":"c1","name":"workspace_exec","arguments":{"command":"sed -u s/^/got:/; echo over","background":true}}'
        answer 2 "" '{"id":"c2","name":"workspace_exec","arguments":{"command":"trap \"echo stopped; exit 3\" INT; while read -r a; do echo tty:$a; done; echo ended","background":true,"tty":true}}'
        answer 3 "They are there." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start them'"
    sees 'They are there.'
    escape
    keys t
    sees '[program p2]'
    keys Tab
    sees '[program p1]'
    sees 'i type  x kill'
    keys I
    sees 'This program has no terminal'
    keys i
    sees 'Ctrl-D end of input'
    typed 'one line'
    keys Enter
    sees 'got:one line'
    keys C-d
    sees 'over'
    sees 'exit 0'
    keys i
    sees 'The program has ended.'
    keys Tab
    sees '[program p2]'
    sees 'I interrupt'
    keys i
    typed 'two'
    keys Enter
    sees 'tty:two'
    escape
    keys I
    sees 'stopped'
    sees 'exit 3'
    escape
    keys q
    sees 'status=0'
}

# The user cannot type while the agent runs; in a turn paused from this view, Ctrl-C goes to the program and not to the
# turn.
case_held() {
    begin held 80x24
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "One to talk with." '{"id":"c1","name":"workspace_exec","arguments":{"command":"trap \"echo stopped\" INT; while true; do read -r a; echo \"tty:$a.\"; done","background":true,"tty":true}}'
        answer 2 "And one that takes its time." '{"id":"c2","name":"workspace_exec","arguments":{"command":"sleep 4"}}'
        answer 3 "They are there." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start them'"
    sees '1 program running'
    keys t
    sees '[program p1]'
    sees 'p pause  x kill'
    sees '!i type'
    keys i
    sees 'The agent is running. p pauses it'
    sees '!type:'
    keys p
    sees 'paused before'
    sees 'i type  I interrupt'
    keys i
    sees 'Ctrl-C interrupt'
    typed 'half'
    sees 'type: half'
    keys C-c
    sees 'stopped'
    sees 'Sent Ctrl-C.'
    sees '!type: half'
    sees 'paused before'
    typed 'whole'
    keys Enter
    sees 'tty:whole.'
    # Pasted text is typed line by line.
    mux set-buffer -- $'first\nsecond\nthird'
    mux paste-buffer -p -t $pane
    sees 'tty:first.'
    sees 'tty:second.'
    sees 'type: third'
    # Closed and opened again, the text is still there.
    escape
    escape
    sees '![program p1]'
    keys t
    sees '[program p1]'
    keys i
    sees 'type: third'
    escape
    keys c
    sees 'waiting for your prompt'
    keys x
    sees 'Kill program p1'
    keys y
    sees 'killed'
    escape
    sees 'They are there.'
    check "the turn was not canceled" bash -c "! grep -q '\"status\":\"cancelled\"' '$home/rec.jsonl'"
    keys q
    sees 'status=0'
}

# The end of a program closes its input line.
case_ends() {
    begin ends 80x24
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "One to talk with." '{"id":"c1","name":"workspace_exec","arguments":{"command":"read -r a; sleep 2; echo bye","background":true}}'
        answer 2 "It is there." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start it'"
    sees 'It is there.'
    escape
    keys t
    sees '[program p1]'
    keys i
    typed 'go'
    keys Enter
    sees '› go'
    typed 'too late'
    sees 'The program has ended. Your unsent text was dropped.'
    sees '!type: too late'
    sees 'exit 0'
    escape
    keys q
    sees 'status=0'
}

# Input that a terminal does not echo is neither on the screen nor in the recording.
case_unseen() {
    begin unseen 80x24
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "One that asks." '{"id":"c1","name":"workspace_exec","arguments":{"command":"stty -echo; printf \"Password: \"; read -r p; stty echo; echo; echo \"${#p} characters\"; read -r q","background":true,"tty":true}}'
        answer 2 "It is there." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start it'"
    sees 'It is there.'
    escape
    keys t
    sees 'Password:'
    keys i
    sees 'hidden input:'
    typed 'sesame'
    sees 'hidden input: ••••••'
    keys Enter
    sees '6 characters'
    sees 'type: '
    keys Up
    typed 'seen'
    sees 'type: seen'
    keys Enter
    sees 'exit 0'
    check "the input is recorded as an event" grep -q 'not echoed' "$home/rec.jsonl"
    check "the typed text is not recorded" bash -c "! grep -rq sesame '$home' --include='*.jsonl' --exclude=model.jsonl"
    escape
    keys q
    sees 'status=0'
}

# A full-screen program gets the size of the view and every key; its earlier lines come back when it ends.
full_screen() { # size, rows and columns of the program
    begin "full_screen_$1" "$1"
    local script
    script=$(base64 -w0 <<'PY'
import curses, os
print("before", flush=True)
def paint(screen):
    curses.set_escdelay(50)
    curses.raw()
    key = "none"
    while key != "q":
        rows, cols = screen.getmaxyx()
        screen.erase()
        screen.addstr(0, 0, "size %dx%d" % (rows, cols), curses.A_REVERSE)
        screen.addstr(rows - 2, cols - 12, "last corner")
        screen.addstr(2, 4, "key: " + key)
        screen.move(4, 7)
        screen.refresh()
        key = curses.keyname(screen.getch()).decode()
        if key == "KEY_RESIZE":
            curses.update_lines_cols()
os.environ.setdefault("TERMINFO_DIRS", "/etc/terminfo:/lib/terminfo:/usr/share/terminfo")
curses.wrapper(paint)
print("after " + os.environ["TERM"], flush=True)
input("more? ")
PY
    )
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "An editor." '{"id":"c1","name":"workspace_exec","arguments":{"command":"echo '"$script"' | base64 -d >paint.py; exec python3 paint.py","tty":true,"background":true}}'
        answer 2 "It is there." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start it'"
    sees 'It is there.'
    escape
    keys t
    sees "size $2"
    sees 'last corner'
    sees '!before'
    keys i
    sees 'Every key goes to the program'
    check "the cursor is where the program put it" [ "$(mux display -p -t $pane '#{cursor_x}')" = 9 ]
    keys x
    sees 'key: x'
    keys Up
    sees 'key: KEY_UP'
    escape
    sees 'key: ^['
    keys C-c
    sees 'key: ^C'
    keys C-l
    sees 'key: ^L'
    keys F5
    sees 'key: KEY_F(5)'
    # Ctrl-] returns the keys to the workbench: i types again.
    keys C-]
    sees 'i type'
    keys i q
    sees 'after xterm-256color'
    sees 'before'
    sees 'type: '
    typed 'no'
    keys Enter
    sees 'exit 0'
    escape
    keys q
    sees 'status=0'
    # A recording shows the same.
    start replay rec.jsonl
    sees 'read only'
    keys G t
    sees 'after xterm-256color'
    escape
    keys q
    sees 'status=0'
}
case_full_screen_small() { full_screen 80x24 17x77; }
case_full_screen_large() { full_screen 120x40 33x117; }

# Real programs on a terminal, in the workspace. One that is not installed is a failure.
run_real() { # case size program command
    begin "$1" "$2"
    check "$3 is installed" command -v "$3" >/dev/null
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "A program." '{"id":"c1","name":"workspace_exec","arguments":{"command":"'"$4"'","tty":true,"background":true}}'
        answer 2 "It is there." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start it'"
    sees 'It is there.'
    escape
    keys t
    sees '[program p1]'
}
type_into() {
    keys i
    sees 'Every key goes to the program'
}
resized() { mux resize-window -t $pane -x "${1%x*}" -y "${1#*x}"; }
# Looks into the recording that was just made, and leaves both.
left_and_replayed() { # what the view of the recording shows
    escape
    keys q
    sees 'status=0'
    start replay rec.jsonl
    sees 'read only'
    keys G t
    sees "$1"
    escape
    keys q
    sees 'status=0'
}

case_vim() {
    run_real vim 80x24 vim.tiny 'vim.tiny -u NONE notes.txt && cat notes.txt && read -r wait && exec vim.tiny -u NONE notes.txt'
    sees '~'
    sees 'terminal · full screen'
    type_into
    keys i
    typed 'first line: äöü'
    keys Enter
    typed 'second line'
    sees 'second line'
    resized 120x40
    sees '1 program running' # of the wider status line
    check "the text is still there" sees 'first line: äöü'
    keys Escape
    typed ':set number'
    keys Enter
    sees '  2 second line'
    resized 80x24
    sees '  2 second line'
    typed ':wq'
    keys Enter
    # What is in the file of the workspace is printed as lines, by cat.
    sees '!~'
    sees 'terminal · 2 lines'
    sees 'second line'
    sees '!  2 second line'
    sees 'type: '
    keys Enter
    sees '~'
    sees 'first line: äöü'
    sees 'Every key goes to the program'
    typed ':q'
    keys Enter
    sees 'exit 0'
    sees '!~'
    left_and_replayed 'first line: äöü'
}

# It leaves nothing on the screen, and the view says so.
case_vim_only() {
    run_real vim_only 80x24 vim.tiny 'exec vim.tiny -u NONE notes.txt'
    sees '~'
    type_into
    typed ':q'
    keys Enter
    sees 'exit 0'
    sees 'It used the full screen and printed no lines.'
    sees '!No output yet.'
    left_and_replayed 'It used the full screen and printed no lines.'
}

case_less() {
    run_real less 80x24 less 'seq -f line-%g 1 500 >lines && exec less lines'
    sees 'line-1 '
    sees '!line-30 '
    type_into
    keys Space
    sees 'line-20 '
    sees '!line-1 '
    keys PageDown PageUp
    sees 'line-20 '
    typed '/line-333'
    keys Enter
    sees 'line-333 '
    sees 'line-340 '
    sees '!line-20 '
    resized 120x40
    sees 'line-360 '
    typed 'G'
    sees 'line-500 '
    sees '(END)'
    resized 80x24
    sees '!line-490 '
    keys g
    sees 'line-1 '
    keys q
    sees 'exit 0'
    sees 'It used the full screen and printed no lines.'
    left_and_replayed 'It used the full screen and printed no lines.'
}

# Without the alternate screen, as git starts it. It reads keys, so it is not given lines.
case_less_plain() {
    run_real less_plain 80x24 less 'seq -f line-%g 1 500 >lines && exec less -X lines'
    sees 'line-1 '
    type_into
    keys Space
    sees 'line-20 '
    keys Space b b
    sees 'line-1 '
    typed '/line-333'
    keys Enter
    sees 'line-340 '
    keys q
    sees 'exit 0'
    sees 'line-340 '
    left_and_replayed 'line-340 '
}

case_htop() {
    run_real htop 80x24 htop 'exec htop -d 5'
    sees 'Load average:'
    sees 'PID USER'
    sees 'sandbox'
    sees 'F1Help'
    sees 'F10Qu'
    type_into
    keys F2
    sees 'Categories'
    keys F10
    sees '!Categories'
    sees 'PID USER'
    resized 120x40
    sees 'F10Quit'
    sees 'Load average:'
    resized 80x24
    sees 'PID USER'
    keys F10
    sees 'exit 0'
    sees 'It used the full screen and printed no lines.'
    left_and_replayed 'It used the full screen and printed no lines.'
}

# It paints without the alternate screen: the same frame again and again, with the keys at the program. Its last frame stays.
case_top() {
    run_real top 80x24 top 'echo before && exec top -d 0.5'
    sees 'terminal · full screen'
    sees 'load average'
    sees 'PID USER'
    sees 'sandbox'
    type_into
    keys 1 # each processor has a row of its own, or not
    sees '%Cpu0'
    keys h
    sees 'Type '"'q'"' or <Esc> to continue'
    keys q
    sees '%Cpu0'
    resized 120x40
    sees 'COMMAND'
    sees 'keyturn-launch'
    check "each frame is in the place of the one before" [ "$(screen | grep -c 'PID USER')" = 1 ]
    check "it begins in the first row" grep -qF 'top - ' <(screen | sed -n 6p)
    resized 80x24
    sees '!COMMAND'
    sees 'PID USER'
    check "each frame is in the place of the one before" [ "$(screen | grep -c 'PID USER')" = 1 ]
    keys q
    sees 'exit 0'
    sees 'PID USER'
    sees '!full screen'
    keys Home
    sees 'before'
    left_and_replayed 'PID USER'
}

# A progress display moves up; what is printed after it is lines.
case_progress() {
    run_real progress 80x24 seq 'echo before; for i in 10 20 30; do printf \"one %%d\\ntwo %%d\\n\" $i $i; sleep 0.2; printf \"\\033[2A\"; done; printf \"one ok\\033[K\\ntwo ok\\033[K\\n\"; read -r a; seq -f line-%g 1 50; read -r b'
    sees 'two ok'
    check "one row each" [ "$(screen | grep -c '│ one ')" = 1 ]
    sees 'before'
    type_into
    keys Enter
    sees 'line-50 '
    sees 'type: '
    keys Enter
    sees 'exit 0'
    keys Home
    sees 'before'
    sees 'two ok'
    check "one row each" [ "$(screen | grep -c '│ one ')" = 1 ]
    left_and_replayed 'line-50 '
}

# Older lines make room for new ones; a line that the user looks at stays in place.
case_stays() {
    begin stays 80x24
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "One that prints." '{"id":"c1","name":"workspace_exec","arguments":{"command":"seq 1 19990; i=20000; while sleep 0.1; do seq $i $((i+99)); i=$((i+100)); done","background":true}}'
        answer 2 "It is there." ''
    } >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "'start it'"
    sees 'It is there.'
    escape
    keys t
    sees '[program p1]'
    keys /
    typed '19900'
    keys Enter
    sees '19900'
    sees 'scrolled'
    sees 'n N match'
    local before thousands
    before=$(screen | grep -n '│ 199')
    thousands=$(screen | grep -o '[0-9]*,[0-9]* lines' | cut -d, -f1)
    sees "$((thousands + 2)),"
    check "the same lines are visible" [ "$before" = "$(screen | grep -n '│ 199')" ]
    keys x
    sees 'Kill program p1'
    keys y
    sees 'killed'
    escape
    keys q
    sees 'status=0'
}

run_cases workspace program typing held ends unseen full_screen_small full_screen_large vim vim_only less less_plain htop top progress stays long hostile no_walls
