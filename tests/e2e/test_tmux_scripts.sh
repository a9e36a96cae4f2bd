#!/usr/bin/env bash
# Tests scripts of a turn in a real terminal, run by a real harness in a real sandbox: their output below their call and
# in full, a failing line, the sandbox dialog, and a script that the user edits before it runs. $1 is the program, $2…
# are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

run_script() { # id script (as JSON text): a call
    printf '{"id":"%s","name":"run_script","arguments":{"script":"%s","timeout":30}}' "$1" "$2"
}
telling='# Count what there is.\nprint(\"looking around\")\nemit_log(\"half of it\", \"warning\")\nemit_intermediate(\"seen\", [3, 4])\nprint(\"all of it\")\nemit_result({\"sum\": 7})\n'
failing='# Divides by what is left.\nleft = 0\n\n\ndef share(whole):\n    return whole / left\n\n\nprint(\"before\")\nemit_result(share(7))\n'

script_model() { # script…: each is a step
    local script step=0
    echo '{"type":"session.started","v":1}'
    for script in "$@"; do
        step=$((step + 1))
        answer $step "I try it." "$(run_script "c$step" "$script")"
    done
    answer $((step + 1)) "That was it." ''
}
run_scripts() { # extra options, script…
    local options=$1
    shift
    script_model "$@" >"$home/model.jsonl"
    start run --workspace ws --model scripted:model.jsonl --record rec.jsonl "$options" "'try it'"
}
over() {
    sees 'That was it.'
    escape # the line for the next prompt
}
leave() {
    keys q
    sees 'status=0'
}

case_rows() {
    begin rows 120x40
    run_scripts '' "$telling"
    over
    sees '{"sum":7}'
    sees '+4'
    sees '!looking around'
    keys 3
    sees '[3 tools]'
    keys o
    sees 'looking around'
    sees 'half of it'
    sees 'seen'
    sees 'all of it'
    keys o
    sees '!looking around'
    sees '{"sum":7}'
    leave
}

# The same in a small terminal.
case_rows_small() {
    begin rows_small 80x24
    run_scripts '' "$telling"
    over
    keys 3
    keys z
    sees 'script'
    keys o
    sees 'looking around'
    sees 'all of it'
    keys z
    leave
}

case_inspect() {
    begin inspect 120x40
    run_scripts '' "$telling"
    over
    keys 3
    keys Enter
    sees 'Count what there is.'
    sees 'emit_intermediate("seen", [3, 4])'
    keys G
    sees 'looking around'
    sees 'all of it'
    escape
    sees '!emit_intermediate'
    # One line of its output, by itself.
    keys o
    sees 'half of it'
    keys Down Down
    keys Enter
    sees 'script.event'
    sees '"level"'
    escape
    leave
}

case_traceback() {
    begin traceback 120x40
    run_scripts '' "$failing"
    over
    sees 'ZeroDivisionError'
    keys 3
    keys Enter
    sees '> is where it failed'
    sees '>  6      return whole / left'
    keys G
    sees 'Traceback (most recent call last)'
    sees 'ZeroDivisionError: division by zero'
    escape
    leave
}

case_sandbox() {
    begin sandbox 120x40
    run_scripts '' "$telling"
    over
    sees 'bwrap'
    keys X
    sees '[sandbox]'
    sees 'bwrap: '
    sees 'seccomp'
    sees '1 used'
    escape
    sees '![sandbox]'
    keys X
    sees '[sandbox]'
    keys q
    sees '![sandbox]'
    leave
}

case_sandbox_at_a_question() {
    begin sandbox_at_a_question 120x40
    run_write
    keys X
    sees '[sandbox]'
    keys y
    escape
    sees '![sandbox]'
    check "the table got the key" bash -c "! grep -q write.decided '$home/rec.jsonl'"
    keys n
    sees 'That is all I had to do.'
}

# A script whose tools destroy is shown in full and needs approval; the other one runs without.
case_destroys() {
    begin destroys 120x40
    mkdir "$home/tools"
    printf 'EFFECT = "DESTRUCTIVE"\ndef wipe(name):\n    return name + " is gone"\n' >"$home/tools/wipe.py"
    run_scripts '--tools tools' '# Removes what is old.\nemit_result(wipe(\"this\"))\n' '# And more.\nemit_result(wipe(\"that\"))\n'
    sees 'waiting for approval: run_script'
    sees '| emit_result(wipe("this"))'
    sees 'y approve'
    check "no script has run" bash -c "! grep -q script.event '$home/rec.jsonl'"
    keys y
    sees '| emit_result(wipe("that"))'
    sees 'y approve'
    file_has "$home/rec.jsonl" 'this is gone'
    keys n
    over
    check "the denied script did not run" bash -c "! grep -q 'that is gone' '$home/rec.jsonl'"
    leave
}

# At its gate: edited, inspected, sent; the edited script is the one that ran.
case_edited() {
    begin edited 120x40
    printf '#!/bin/sh\ncp "$1" "%s/edited.$(basename "$1")"\nsed -i "s/looking around/changed by hand/; s/\\"timeout\\": 30/\\"timeout\\": 20/" "$1"\n' \
        "$home" >"$home/editor"
    chmod +x "$home/editor"
    typed "export EDITOR=$home/editor"
    keys Enter
    run_scripts '--break tool=run_script' "$telling"
    sees 'Next: run #1 run_script (script)'
    sees 'e edit the script   E arguments'
    sees '2  print("looking around")'
    keys e
    sees '2  print("changed by hand")'
    sees 'Edited the script.'
    check "the editor showed the script" bash -c "head -n 1 '$home'/edited.*.py | grep -qx '# Count what there is.'"
    keys E
    sees 'Edited the arguments.'
    sees 'timeout: 20'
    check "the editor showed JSON" bash -c "head -n 1 '$home'/edited.*.json | grep -qx '{'"
    keys c
    over
    check "the edited script ran" bash -c \
        "grep '\"type\":\"tool.started\"' '$home/rec.jsonl' | grep -qF 'changed by hand' && grep '\"type\":\"tool.started\"' '$home/rec.jsonl' | grep -qF '\"timeout\":20'"
    check "and printed the new text" bash -c "grep '\"type\":\"script.event\"' '$home/rec.jsonl' | grep -qF 'changed by hand'"
    check "both edits are recorded" [ "$(grep -c '"type":"edited"' "$home/rec.jsonl")" = 2 ]
    leave
}

run_cases rows rows_small inspect traceback sandbox sandbox_at_a_question destroys edited
