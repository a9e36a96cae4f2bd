#!/usr/bin/env bash
# Tests runs from outside: prompts, writes, events, every kind of end, signals, failing output, the demo. $1 is the
# program.
set -u
. "$(dirname "$0")/outside.sh"

begin "a run that reads"
script_reads >m.jsonl
kt run --workspace ws --model m.jsonl "Have a look."
ok "exit 0" is 0
ok "quiet" quiet
ok "prompt" out "Have a look."
ok "call" out "read_file"
ok "outcome" out "done"
ok "answer" out "Seen."
ok "summary" grep -q '^done .*2 steps' "$base/out"
ok "one journal" test "$(ls "$sessions" | wc -l)" -eq 1
ok "private" test "$(stat -c %a "$sessions"/*.jsonl)" = 600
ok "no empty checkpoints" test -z "$(ls "$XDG_DATA_HOME/keyturn/checkpoints")"
id=$(basename "$sessions"/*.jsonl .jsonl)
kt sessions
ok "listed" out "$id"
ok "with its prompt" out "Have a look."
kt sessions --json
ok "as JSON" out "\"session\":\"$id\""
kt
ok "sessions NAME prints it" out "$id"
kt replay "$id"
ok "replay by name" is 0
ok "prints the same" out "Seen."
rm "$XDG_DATA_HOME/keyturn/keyturn.db"
kt sessions
ok "listed without the database" out "$id"
rm "$sessions"/*.jsonl
kt sessions
ok "a removed session is not listed" out "No sessions yet"

begin "prompt from standard input"
script_reads >m.jsonl
printf 'From a pipe.\n' | timeout 60 "$program" run --workspace ws --model m.jsonl >"$base/out" 2>"$base/err"
status=$?
ok "exit 0" is 0
ok "prompt" out "From a pipe."
head -c 1048577 /dev/zero | tr '\0' a | timeout 60 "$program" run --workspace ws --model m.jsonl >"$base/out" 2>"$base/err"
status=$?
refused "1 MB"
printf 'a\0b' | timeout 60 "$program" run --workspace ws --model m.jsonl - >"$base/out" 2>"$base/err"
status=$?
refused "NUL"
kt run --workspace ws --model m.jsonl
refused "empty"
kt run --workspace ws --model m.jsonl "  "
refused "empty"

begin "writes"
script_writes >m.jsonl
kt run --workspace ws --model m.jsonl x
ok "exit status 4 without a terminal" is 4
ok "untouched" grep -qx two ws/a.txt
ok "the diff is shown" out "+zwei"
ok "the denial is shown" out "denied by policy"
kt run --workspace ws --model m.jsonl --approve deny x
ok "--approve deny: exit 0" is 0
ok "still untouched" grep -qx two ws/a.txt
kt run --workspace ws --model m.jsonl --approve allow x
ok "--approve allow: exit 0" is 0
ok "written" grep -qx zwei ws/a.txt
ok "the plain text shows the write" out "wrote a.txt +1 -1"
ok "has a checkpoint for undo" test -n "$(ls "$XDG_DATA_HOME/keyturn/checkpoints")"
for list in "the database" "the journals"; do
    kt sessions
    ok "approved writes are counted, from $list" grep -q '^.* 1 approved  ' "$base/out"
    ok "denied writes are counted, from $list" test "$(grep -c ' 1 denied  ' "$base/out")" = 2
    kt sessions --json
    ok "JSON has the counts, from $list" out '"writes":1,"approved":1,"denied":0'
    rm -f "$XDG_DATA_HOME/keyturn/keyturn.db"
done

begin "headless"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
ok "exit 0" is 0
ok "the output equals the recording" cmp -s "$base/out" r.jsonl
ok "first line" grep -q '"seq":1,.*session.started' <(head -1 r.jsonl)
ok "last line" grep -q '"session.ended","reason":"quit"' <(tail -1 r.jsonl)
ok "--record elsewhere creates no session" test ! -e "$sessions" -o -z "$(ls "$sessions" 2>/dev/null)"
kt run --headless --workspace ws --model m.jsonl --record r.jsonl x
refused "r.jsonl" "file exists"
kt run --headless --workspace ws --model m.jsonl --break tool=read_file x
ok "a breakpoint holds" out '"type":"held","gate":"before tool"'
ok "and continues without a user" out '"by":"nobody"'
kt run --headless --workspace ws --model m.jsonl --step x
ok "--step holds too" out '"type":"held"'
kt run --headless --workspace ws --model m.jsonl --serial --web off --engine none --theme mono x
ok "options are accepted" out '"type":"turn.finished"'

begin "failures"
head_lines x >m.jsonl
kt run --workspace ws --model m.jsonl x
ok "the model has no answer: 1" is 1
ok "status" grep -q '^failed' "$base/out"
script_writes >m.jsonl
kt run --workspace ws --model m.jsonl --budget steps=1 x
ok "the budget is used up: 1" is 1
ok "status" grep -q '^budget' "$base/out"
ok "no message on stderr" quiet
kt run --headless --workspace ws --model m.jsonl --budget steps=1 x
ok "headless: 1" is 1
ok "headless: a line for people" one_error
ok "headless: says which limit, and how to raise it" \
    err "the turn stopped at the limit of 1 step (raise it with --budget steps=2)"
kt run --headless --workspace ws --model m.jsonl --budget wall_s=0 x
ok "headless: the limit in the unit of the option" err "the limit of 0 s (raise it with --budget wall_s=1)"
script_reads >m.jsonl
kt run --headless --workspace ws --model m.jsonl --budget tool_calls=0 x
ok "calls past their limit are skipped" out '"reason":"blocked"'
ok "so the turn is not done" out '"status":"budget"'
ok "exit 1" is 1
ok "stderr counts them" err "the limit of 0 tool calls, 1 call skipped (raise it with --budget tool_calls=1)"
kt run --workspace ws --model m.jsonl --budget tool_calls=0 x
ok "the account counts them too" out "stopped at the limit of 0 tool calls, 1 call skipped"

begin "limits without a user"
script_reads >m.jsonl
kt run --headless --workspace ws --model m.jsonl x
ok "the defaults" out '"limits":{"wall_ms":1800000,"steps":50,"tool_calls":null,"reflections":4,'
ok "no limit of the cost" out '"cost_usd":null}'
kt run --headless --workspace ws --model m.jsonl --budget steps=7 x
ok "an option wins, key by key" out '"limits":{"wall_ms":1800000,"steps":7,"tool_calls":null,'
printf '{"budget": {"wall_s": 90, "steps": 8}}' >limits.json
kt run --headless --config limits.json --workspace ws --model m.jsonl --budget steps=7 x
ok "the file wins too" out '"limits":{"wall_ms":90000,"steps":7,"tool_calls":null,'

begin "a write without a user to approve it"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl x
ok "exit 4" is 4
ok "stderr says which write" err "denied: edit_file"
ok "and what would approve it" err "no user is present to approve it (--approve allow approves it)"
head_lines x >m.jsonl
kt run --headless --workspace ws --model m.jsonl x
ok "headless, failed: 1" is 1
ok "headless, failed: one line on stderr" one_error
ok "headless, failed: names the cause" err "the recording ends here"

begin "interrupted"
latency=60000 script_reads >slow.jsonl
for times in 1 2 3 4; do # 3 and 4: twice, the second while the first is already handled
    : >"$base/out" # the output of the last run must not count
    "$program" replay --execute --headless --speed 1 slow.jsonl >"$base/out" 2>"$base/err" </dev/null &
    pid=$!
    for _ in $(seq 200); do grep -q model.requested "$base/out" && break; sleep 0.05; done
    kill -INT $pid
    [ $times -gt 1 ] && { sleep 0.00$((times - 2)); kill -INT $pid 2>/dev/null; }
    wait $pid
    status=$?
    ok "$times x: 130" is 130
    [ $times -eq 1 ] && ok "the turn ends as interrupted" out '"status":"cancelled"'
    [ $times -eq 1 ] && ok "and so does the session" out '"type":"session.ended","reason":"interrupted"'
    ok "$times x: no scratch folder is left" test -z "$(ls "$TMPDIR")"
done
for signal in TERM:143 HUP:129; do
    : >"$base/out" # the output of the last run must not count
    "$program" replay --execute --headless --speed 1 slow.jsonl >"$base/out" 2>"$base/err" </dev/null &
    pid=$!
    for _ in $(seq 200); do grep -q model.requested "$base/out" && break; sleep 0.05; done
    kill -"${signal%:*}" $pid
    wait $pid
    status=$?
    ok "$signal" is "${signal#*:}"
    ok "$signal: the turn ends as interrupted" out '"status":"cancelled"'
    ok "$signal: no scratch folder is left" test -z "$(ls "$TMPDIR")"
done
printf '%s\n' '{"seq":1,"t":0,"turn":0,"type":"session.started","v":1}' '{"seq":2,"t":90000000,"turn":0,"type":"session.ended"}' >r.jsonl
: >"$base/out"
"$program" replay --headless --speed 1 r.jsonl >"$base/out" 2>"$base/err" </dev/null &
pid=$!
for _ in $(seq 200); do [ -s "$base/out" ] && break; sleep 0.05; done
kill -INT $pid
wait $pid
status=$?
ok "a replay: 130" is 130

begin "standard output fails"
script_writes >m.jsonl
timeout 60 "$program" run --headless --workspace ws --model m.jsonl x 2>"$base/err" >/dev/full </dev/null
status=$?
ok "full: 1" is 1
ok "the error names the cause" err "No space left"
ok "one line" one_error
timeout 60 "$program" run --workspace ws --model m.jsonl x 2>"$base/err" </dev/null | true
status=${PIPESTATUS[0]}
ok "closed pipe: 1" is 1
ok "the error names standard output" err "standard output"
timeout 60 "$program" replay --headless m.jsonl >/dev/full 2>"$base/err"
status=$?
ok "replay: 1" is 1
timeout 60 "$program" --help >/dev/full 2>"$base/err"
status=$?
ok "help: 1" is 1
timeout 60 "$program" run --workspace ws --model m.jsonl --approve deny x >&- 2>"$base/err" </dev/null
status=$?
ok "closed: runs" is 0

begin "demo"
kt_fixtures=$home/fixtures
mkdir -p "$kt_fixtures/demo"
cp ws/a.txt "$kt_fixtures/demo/"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record "$kt_fixtures/demo.jsonl" x
export KEYTURN_FIXTURES=$kt_fixtures
kt demo
ok "exit 0" is 0
ok "account" out "approved by recording"
ok "no scratch folder is left" test -z "$(ls "$TMPDIR")"
ok "the fixture is untouched" grep -qx two "$kt_fixtures/demo/a.txt"
kt demo --headless
ok "headless" grep -q '"type":"session.ended"' "$base/out"
kt demo --workspace new
ok "the files stay" grep -qx zwei new/a.txt
ok "the folder is named" err "new"
kt demo --workspace new
refused "new" "not empty"
kt demo --approve ask
ok "--approve ask without a user: 4" is 4
export KEYTURN_FIXTURES=$source/fixtures
timeout 60 env PATH=/nowhere "$program" demo --headless --approve allow >"$base/out" 2>"$base/err" </dev/null
status=$?
ok "without a sandbox it ends" is 0
ok "the recorded model reports the missing sandbox" out "There is no sandbox on this machine, so the tests did not run."
ok "and claims no passed tests" no_out "all 6 tests pass"
ok "neither at the end" no_out "All 6 tests pass"
ok "but says that the fix is untested" out "It is untested: the tests could not be run."
unset KEYTURN_FIXTURES
KEYTURN_FIXTURES=$home/nowhere kt demo
ok "the installed demo or a clear error" test "$status" -eq 0 -o "$status" -eq 2

begin "ulimit"
script_reads >m.jsonl
limited() { # arguments of ulimit: status, $base/out, $base/err
    (ulimit $1 && exec timeout 60 "$program" run --workspace ws --model m.jsonl x) >"$base/out" 2>"$base/err" </dev/null
    status=$?
}
for files in 8 16 32; do
    limited "-n $files"
    ok "$files files: exit 1" is 1
    ok "$files files: one line" one_error
    ok "$files files: names the fix" err "the limit is $files (set ulimit -n to 64 or more)"
done
limited "-s 64"
ok "64 KB of stack: exit 1" is 1
ok "64 KB of stack: one line" one_error
ok "64 KB of stack: names the fix" err "limited to 64 KB (set ulimit -s to 512 or more)"
for enough in "-n 64" "-Sn 8" "-Sn 28" "-Sn 40" "-s 512" "-Ss 64"; do
    limited "$enough"
    ok "ulimit $enough is enough" is 0
done

begin "a low soft limit is raised for programs too"
{ head_lines "Count." && answer 1 "" '{"id":"c1","name":"workspace_exec","arguments":{"command":"echo began"}}' && answer 2 "Done." ""; } >m.jsonl
for files in 28 34 40; do
    (ulimit -Sn $files && exec timeout 60 "$program" run --headless --approve allow --workspace ws --model scripted:m.jsonl x) >"$base/out" 2>"$base/err" </dev/null
    status=$?
    ok "$files files: exit 0" is 0
    ok "$files files: the program ran" out '"output":"began\n"'
    ok "$files files: enough for all of its children" no_out "open files"
done

begin "a journal that may not grow"
big=$(head -c 40000 /dev/zero | tr '\0' a)
{ head_lines "Change it." && answer 1 "$big" "$edit_a" && answer 2 "Changed." ""; } >m.jsonl
for how in "" --headless; do
    (ulimit -f 32 && exec timeout 60 "$program" run $how --approve allow --workspace ws --model m.jsonl x 2>&1 </dev/null) |
        cat >"$base/out"
    status=${PIPESTATUS[0]}
    ok "exit 1" is 1
    ok "names the cause" out "File too large"
    ok "and the end of the turn" out "actions that cannot be recorded are not done"
    ok "nothing was written" grep -qx two ws/a.txt
done

finish
