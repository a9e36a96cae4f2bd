#!/usr/bin/env bash
# Tests a turn and a recording in a real terminal: stepping, canceling, prompts, replay, fork, the demo. $1 is the
# program, $2… are the cases to run (default: all).
set -u
. "$(dirname "$0")/terminal.sh"

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
    check "no file was written" grep -qx 3 "$home/ws/numbers"
    check "the journal is complete" grep -q session.ended "$home/rec.jsonl"
}

case_limits() {
    begin limits 120x40
    run_write
    check "an interactive session asks at 100 steps, 1 hour and 5 dollars" grep -qF \
        '"limits":{"wall_ms":3600000,"steps":100,"tool_calls":null,' "$home/rec.jsonl"
    check "and 5 dollars" grep -qF '"cost_usd":5}' "$home/rec.jsonl"
    keys C-c
    sees 'canceled'
}

# The questions of 4 writes in one answer, with a limit of 2 calls.
case_calls_at_a_limit() {
    begin calls_at_a_limit 100x30
    write_model writes.jsonl
    local calls="" i
    for i in 1 2 3 4; do
        calls+="${calls:+,}{\"id\":\"w$i\",\"name\":\"write_file\",\"arguments\":{\"path\":\"n$i\",\"content\":\"$i\\n\"}}"
    done
    {
        head -1 "$home/writes.jsonl"
        printf '{"type":"model.responded","turn":1,"step":1,"text":"Four files.","tool_calls":[%s],"stop":"tool_use"}\n' "$calls"
        printf '{"type":"model.responded","turn":1,"step":2,"text":"4 files.","tool_calls":[],"stop":"end_turn"}\n'
    } >"$home/four.jsonl"
    start run --workspace ws --model scripted:four.jsonl --record rec.jsonl --approve allow --budget tool_calls=2 write
    sees 'paused at a limit of 2 tool calls, before #3 write_file n3'
    check "two files" test ! -e "$home/ws/n3"
    keys s
    sees 'Press s again to end the turn.'
    keys +
    sees 'Raised the limit from 2 tool calls to 4 tool calls.'
    sees 'done'
    file_has "$home/rec.jsonl" '"status":"done"'
    check "four files" test -e "$home/ws/n4"
}

case_cancel() {
    begin cancel 120x40
    run_write
    keys C-c
    sees 'canceled'
    file_has "$home/rec.jsonl" '"status":"cancelled"'
    check "no file was written" grep -qx 3 "$home/ws/numbers"
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
    sees 'before the model request'
    keys s
    file_has "$home/rec.jsonl" '"gate":"after answer"'
    escape
    keys c
    sees 'waiting for approval'
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
    sees 'event 212 of 212'
    keys g
    sees 'event 1 of 212'
    keys G
    keys x
    sees 'no error'
    typed ':goto 100'
    keys Enter
    sees 'event 100 of 212'
    typed ':goto 99999'
    keys Enter
    sees 'The recording ends earlier'
    sees 'event 212 of 212'
    typed ':goto 3600s'
    keys Enter
    sees 'its last event, 212 at'
    keys b
    sees 'F forks a live session from here'
    typed ':goto 100'
    keys Enter
    sees 'event 100 of 212'
    typed ':speed 64'
    keys Enter
    keys Space
    sees 'event 212 of 212'
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
    sees 'Forked'
    check "a new session is there" bash -c "ls '$home'/data/keyturn/sessions/*.jsonl >/dev/null"
    check "the recording is unchanged" cmp -s "$home/before.jsonl" "$source/fixtures/write-denied.jsonl"
    escape
    keys q
    sees 'status='
}

case_execute() {
    begin execute 120x40
    start replay --execute --speed 0 "$source/fixtures/parallel-reads.jsonl"
    sees 'No divergence'
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
    typed 'reader'
    sees '1 message · reader'
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
    sees 'waiting for approval'
    sees 'Hunk 2 is not needed'
    keys ']'
    keys Space
    sees '1 of 2 hunks'
    keys y
    sees '!Hunk 2 is not needed'
    sees 'CHANGELOG.md'
    sees 'waiting for approval'
    keys y
    file_has "$home/rec.jsonl" '"type":"turn.finished"'
    check "the turn is done" grep -q '"status":"done"' "$home/rec.jsonl"
    check "the tests failed first, and passed with the fix" [ "$(grep '"final_result"' "$home/rec.jsonl" |
        grep -o '"failed":\[[^]]*\]' | tr '\n' ' ')" = '"failed":["last_line"] "failed":[] ' ]
    check "and the answer says so" grep -qF 'All 6 tests pass; before, last_line failed.' "$home/rec.jsonl"
    sees 'Done.'
    escape
    keys q
    sees 'status=0'
    check "no folder is left" [ -z "$(ls -A "$home/tmp")" ]
}

# After all writes are denied, the demo's texts and test results still match the files.
case_demo_denied() {
    begin demo_denied 120x40
    start demo --record rec.jsonl
    sees 'waiting for approval: edit_file src/lines.py'
    keys n
    file_has "$home/rec.jsonl" 'last_line still fails'
    sees 'waiting for approval: edit_file CHANGELOG.md'
    keys n
    file_has "$home/rec.jsonl" '"type":"turn.finished"'
    check "the tests failed twice" [ "$(grep -c '"final_result".*"failed":\["last_line"\]' "$home/rec.jsonl")" = 2 ]
    check "and the answer says so" grep -qF 'The tests confirm it: last_line fails.' "$home/rec.jsonl"
    sees 'Done; nothing was written.'
    escape
    keys q
    sees 'status=0'
}

run_cases quit_asks limits calls_at_a_limit cancel second_prompt step replay_keys fork execute search_and_filter help_and_theme mouse \
    start_screen demo demo_denied
