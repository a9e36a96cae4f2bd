#!/usr/bin/env bash
# Tests recordings from outside: show, run again, check, damaged ones, hostile ones, and plain text. $1 is the program.
set -u
. "$(dirname "$0")/outside.sh"

begin "replay"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
sum=$(cat r.jsonl | sha256sum)
kt replay --headless r.jsonl
ok "exit 0" is 0
ok "prints the lines unchanged" cmp -s "$base/out" r.jsonl
kt replay --headless --until 5 r.jsonl
ok "until 5" cmp -s "$base/out" <(head -5 r.jsonl)
kt replay --headless --speed 1000 r.jsonl
ok "with a speed" cmp -s "$base/out" r.jsonl
kt replay r.jsonl
ok "as plain text" out "wrote a.txt +1 -1"
kt replay m.jsonl
ok "a hand-written recording" out "I write."
ok "its first step" grep -q '^step 1 ' "$base/out"
ok "nothing was executed" grep -qx zwei ws/a.txt
{
    printf '{"type":"session.started","v":1,"session":"by hand"}\n{"type":"turn.started","prompt":"Look."}\n'
    printf '{"type":"model.responded","text":"Two of them.","tool_calls":[{"name":"read_file","arguments":{"path":"a.txt"}},{"name":"list_dir"}]}\n'
    printf '{"type":"model.responded","tool_calls":[{"name":"list_dir","arguments":{"path":"sub"}}]}\n{"type":"model.responded","text":"Seen."}\n'
} >hand.jsonl
kt replay hand.jsonl
ok "by hand: exit 0" is 0
golden by-hand.txt
kt replay --headless --record x.jsonl r.jsonl
refused "--execute"
ok "the file is unchanged" test "$(cat r.jsonl | sha256sum)" = "$sum"

begin "a hand-written recording of two turns"
two=$source/fixtures/two-turns.jsonl
kt replay "$two"
ok "shows both" grep -q '^turn 2$' "$base/out"
kt replay --execute --headless --approve allow --record r.jsonl "$two"
ok "runs both: exit 0" is 0
ok "with the prompt of the second" out '"turn":2,"type":"turn.started","prompt":"Make it two kinds of bread."'
ok "and its answer" out '"type":"turn.finished","status":"done","text":"The list has white bread and rye bread."'
ok "both turns write" test "$(grep -c '"type":"write.applied"' r.jsonl)" -eq 2
kt replay --check --approve allow "$two"
ok "--check agrees" is 0
kt replay --check --workspace "$source/fixtures/two-turns" r.jsonl
ok "the recording of the run agrees too" is 0
sed '/rye/s/"old":"bread/"old":"cake/' "$two" >wrong.jsonl
kt replay --execute --headless --approve allow --workspace "$source/fixtures/two-turns" wrong.jsonl
ok "the second turn runs its own calls" out '"call":"c3","tool":"edit_file","outcome":"failure"'

begin "errors of a tool"
{
    printf '{"type":"session.started","v":1,"session":"s","tools":[{"name":"srv__x","description":"d","effect":"READ_ONLY","parameters":{"type":"object"}}]}\n'
    printf '{"turn":1,"type":"turn.started","prompt":"go"}\n'
    printf '{"turn":1,"type":"model.responded","step":1,"text":"","stop":"tool_use","tool_calls":[{"id":"c1","name":"srv__x","arguments":{}}]}\n'
    printf '{"turn":1,"type":"tool.started","call":"c1","tool":"srv__x","arguments":{},"effect":"READ_ONLY","wave":1,"deadline_ms":1000}\n'
    printf '{"turn":1,"type":"tool.finished","call":"c1","tool":"srv__x","outcome":"failure","elapsed_ms":1,"failure":{"error":"canceled by the user of the remote host","retryable":true}}\n'
    printf '{"turn":1,"type":"model.responded","step":2,"text":"Done.","tool_calls":[],"stop":"end_turn"}\n'
    printf '{"turn":1,"type":"turn.finished","status":"done","text":"Done."}\n'
} >words.jsonl
kt replay --execute --headless --speed 0 --workspace ws words.jsonl
ok "a tool error about a cancel does not stop the turn" grep -q '"type":"turn.finished","status":"done"' "$base/out"

begin "run again"
script_writes >m.jsonl
cp -r ws before
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
kt replay --check --workspace before r.jsonl
ok "agrees" is 0
ok "says so" out "events agree"
ok "counts the compared events" test "$(grep -o '[0-9]* events' "$base/out")" != "$(wc -l <r.jsonl) events"
ok "on one line" test "$(wc -l <"$base/out")" -eq 1
kt replay --check --workspace ws r.jsonl
ok "departs: 3" is 3
ok "one line" one_error
place='^keyturn: r.jsonl: diverged at seq [1-9][0-9]*: [a-z.]*\.[a-z_.]*[^ ]*: recorded .*, got '
ok "names the event" grep -q "$place" "$base/err"
kt replay --execute --headless --workspace before --record again.jsonl r.jsonl
ok "executes" is 0
ok "prints what it records" cmp -s "$base/out" again.jsonl
ok "decided by the recording" out '"by":"recording"'
ok "the folder is copied, not changed" grep -qx two before/a.txt
kt replay --execute --workspace ws r.jsonl
ok "departs" is 3
ok "names them" test "$(grep -c "$place" "$base/err")" -gt 1
ok "only in these words" test "$(grep -vc "$place" "$base/err")" -eq 0
kt replay --execute --workspace before --record r.jsonl r.jsonl
refused "r.jsonl"
kt replay --execute --workspace before --approve deny r.jsonl
ok "another decision diverges" is 3
for type in turn.finished writes.closed checkpoint.saved turn.prepared; do
    grep -v "\"type\":\"$type\"" r.jsonl >less.jsonl
    kt replay --check --workspace before less.jsonl
    ok "without $type: diverges" is 3
    ok "without $type: names the event before it" grep -q "diverged at seq [1-9][0-9]*: $type.event: recorded nothing" "$base/err"
done
sed 's/"stop":"end_turn"/"stop":"max_tokens"/; s/"text":"Changed."/"text":"Done."/' m.jsonl >other.jsonl
kt replay --check --workspace before --model other.jsonl r.jsonl
ok "another answer diverges" err "model.responded.text: recorded Changed., got Done."
sed 's/"stop":"end_turn"/"stop":"max_tokens"/' m.jsonl >other.jsonl
kt replay --check --workspace before --model other.jsonl r.jsonl
ok "another end diverges" err "model.responded.stop: recorded end_turn, got max_tokens"
decided=$(grep -n '"type":"write.decided"' r.jsonl | cut -d: -f1)
sed 's/"type":"turn.finished","status":"done"/"type":"turn.finished","status":"failed"/' r.jsonl >end.jsonl
kt replay --check --workspace before end.jsonl
ok "the end diverges" err "turn.finished.status"
kt replay --check --workspace before --until "$decided" end.jsonl
ok "agrees up to the event before it" is 0
ok "counts up to that event" test "$(grep -o '[0-9]* events' "$base/out" | cut -d' ' -f1)" -lt "$decided"
kt replay --execute --headless --workspace before --until "$decided" end.jsonl
ok "--until stops the execution" is 0
ok "and the session ends" out '"type":"session.ended"'
ok "before the turn was done" no_out '"status":"done"'
kt replay --check --workspace before --until 1 r.jsonl
refused "r.jsonl" "--until"
{ cat r.jsonl; printf '{"type":"turn.fin'; } >cut.jsonl
kt replay --check --workspace before cut.jsonl
ok "a truncated recording agrees" is 0
ok "with a warning" err "cut.jsonl: the last line is incomplete"
grep -v 'turn.finished\|session.ended' r.jsonl >early.jsonl
kt replay --check --workspace before early.jsonl
ok "a recording that ends in a turn agrees" is 0
ok "with a warning" err "recording ends mid-turn"
kt replay --check r.jsonl
ok "without a folder beside it: a warning" err "empty folder"
cp -r before r
kt replay --check r.jsonl
ok "with a folder beside it: no warning" quiet
kt replay --check r.jsonl
ok "the files beside the recording" is 0
rm -r r
kt replay --execute r.jsonl
ok "no files: a warning" err "empty folder"
ok "no files: diverges" is 3
ok "no scratch folder is left" test -z "$(ls "$TMPDIR")"
head -1 m.jsonl >none.jsonl
kt replay --check none.jsonl
refused "none.jsonl" "no turn"

begin "two turns and missing tools"
{
    printf '{"type":"session.started","v":1,"session":"s","tools":[{"name":"ask_oracle","effect":"READ_ONLY"}]}\n'
    printf '{"type":"turn.started","turn":1,"prompt":"First."}\n'
    printf '{"type":"model.responded","turn":1,"step":1,"text":"","tool_calls":[{"id":"o1","name":"ask_oracle","arguments":{}}],"stop":"tool_use"}\n'
    printf '{"type":"tool.started","turn":1,"call":"o1","tool":"ask_oracle","arguments":{},"effect":"READ_ONLY","wave":1}\n'
    printf '{"type":"tool.finished","turn":1,"call":"o1","tool":"ask_oracle","outcome":"result","elapsed_ms":5,"result":{"output":"42"}}\n'
    printf '{"type":"model.responded","turn":1,"step":2,"text":"It is 42.","tool_calls":[],"stop":"end_turn"}\n'
    printf '{"type":"turn.started","turn":2,"prompt":"Second."}\n'
    printf '{"type":"model.responded","turn":2,"step":1,"text":"Again 42.","tool_calls":[],"stop":"end_turn"}\n'
} >m.jsonl
kt replay --execute m.jsonl
ok "exit 0" is 0
ok "first" out "It is 42."
ok "second" out "Again 42."
kt replay --check m.jsonl
ok "agrees" is 0
ok "says what was not run" err "m.jsonl: 1 call answered from the recording"

begin "stopped during a request"
{
    head_lines "Look." && answer 1 "I look." "$read_a"
    printf '{"type":"writes.closed","turn":1}\n{"type":"turn.finished","turn":1,"status":"cancelled","steps":2,"tool_calls":1}\n'
} >m.jsonl
kt replay --check --workspace ws m.jsonl
ok "agrees" is 0
sed -i 's/"cancelled"/"done"/' m.jsonl
kt replay --check --workspace ws m.jsonl
ok "another end diverges" err "turn.finished.status: recorded done, got failed"

begin "broken recordings"
script_reads >m.jsonl
kt replay missing.jsonl
refused "missing.jsonl"
kt replay ws
refused "ws" "folder"
: >empty.jsonl
kt replay empty.jsonl
refused "empty.jsonl" "empty"
head -c 200000 /dev/urandom >binary.jsonl
kt replay binary.jsonl
refused "binary.jsonl"
printf '{"type":"user","message":"of another program"}\n' >foreign.jsonl
kt replay foreign.jsonl
refused "foreign.jsonl:1:" "session.started"
printf '{"type":"session.started","v":9}\n' >newer.jsonl
kt replay newer.jsonl
refused "newer.jsonl:1:" "version 9"
{ head -2 m.jsonl; echo '{"type":'; tail -1 m.jsonl; } >bad.jsonl
kt replay --headless bad.jsonl
refused "keyturn: bad.jsonl:3:"
ok "the lines before it are shown" cmp -s "$base/out" <(head -2 m.jsonl)
kt replay bad.jsonl
refused "keyturn: bad.jsonl:3:"
ok "the plain text shows them" out "Look."
kt replay --check bad.jsonl
refused "bad.jsonl:3:"
{ cat m.jsonl; printf '{"type":"turn.fin'; } >cut.jsonl
kt replay --headless cut.jsonl
ok "cut: 0" is 0
ok "cut: a warning" err "cut"
ok "cut: all complete lines are printed" cmp -s "$base/out" m.jsonl
{ head -2 m.jsonl; echo '{"type":"something.new","turn":1,"x":[1,2]}'; tail -2 m.jsonl; } >unknown.jsonl
kt replay unknown.jsonl
ok "unknown types are accepted" is 0
ok "and are shown" out "something.new"
truncate -s 1G sparse.jsonl
kt replay sparse.jsonl
refused "sparse.jsonl"
kt run --workspace ws --model sparse.jsonl x
refused "sparse.jsonl"
{ head -1 m.jsonl; head -c 300000000 /dev/zero; } >zeros.jsonl
kt replay --headless zeros.jsonl
ok "zeros after a good line: no crash" test "$status" -eq 0 -o "$status" -eq 2
yes x | head -c 200000000 >lines.jsonl
kt replay lines.jsonl
refused "lines.jsonl:1:"
rm -f lines.jsonl zeros.jsonl
mkfifo pipe.jsonl
kt replay pipe.jsonl
refused "pipe.jsonl"
kt replay /dev/zero
refused "/dev/zero"
printf '{"type":"session.started","v":1}\n{"type":"turn.started","prompt":%s}\n' "$(printf '[%.0s' $(seq 5000))" >deep.jsonl
kt replay deep.jsonl
ok "deep nesting" is 2

begin "hostile text"
{
    head_lines 'A \u001b[31mred\u001b[0m \u202eprompt\u0007'
    answer 1 'Text \u001b]0;title\u0007 \u200b\u009b2J' '{"id":"c1","name":"read_\u001b[2J","arguments":{"path":"\u001b[H\u202e.txt"}}'
    answer 2 'End.' ''
} >m.jsonl
kt replay m.jsonl
ok "exit 0" is 0
ok "no escapes" test -z "$(tr -cd '\033\007' <"$base/out")"
ok "controls are escaped" out '<U+202E>'
kt run --workspace ws --model m.jsonl x
ok "live as well" test -z "$(tr -cd '\033\007' <"$base/out")"
printf 'umlaut \xc3\xbc' | LC_ALL=C timeout 60 "$program" run --workspace ws --model m.jsonl >"$base/out" 2>"$base/err"
ok "ASCII in a C locale" test -z "$(LC_ALL=C tr -d '\001-\177' <"$base/out")"
ok "without losing text" out 'umlaut <U+00FC>'
{
    printf '{"type":"session.started","v":1,"app":"a\\nb","workspace":"w\\nw","model":{"provider":"p\\np","name":"n\\nn"}}\n'
    printf '{"type":"turn.started","prompt":"One.\\nTwo."}\n{"type":"held","gate":"g\\ng"}\n{"type":"released","by":"b\\nb"}\n'
    printf '{"type":"context.loaded","pack":[{"path":"p\\nq"}]}\n'
    printf '{"type":"model.responded","step":1,"tool_calls":[{"id":"i\\ni","name":"t\\nt","arguments":{}}]}\n'
    printf '{"type":"write.proposed","call":"i\\ni","ask":"q","files":[{"path":"f\\nf","diff":""}]}\n'
    printf '{"type":"write.decided","ask":"q","decision":"approved","by":"y\\ny","reason":"Three.\\nFour."}\n'
    printf '{"type":"write.applied","call":"i\\ni","files":[{"path":"f\\nf"}]}\n'
    printf '{"type":"late.suppressed","call":"l\\nl"}\n{"type":"write.undone","checkpoint":"k\\nk","paths":["u\\nu"]}\n'
    printf '{"type":"turn.finished","status":"done\\nx","text":"Five.\\nSix."}\n'
} >names.jsonl
kt replay names.jsonl
golden names.txt
ok "text keeps its line breaks" grep -qx ' *Two\.' "$base/out"
kt replay $'\033[2J.jsonl'
ok "no escapes in errors" test -z "$(tr -cd '\033' <"$base/err")"

begin "a terminal"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
if command -v script >/dev/null; then
    on_tty "'$program' replay --speed 0 r.jsonl"
    ok "exit 0" is 0
    ok "colors" grep -q $'\033\\[32m' "$base/out"
    ok "fits" test "$(sed 's/\x1b\[[0-9;]*m//g; s/\r$//' "$base/out" | wc -L)" -le 60
    on_tty "NO_COLOR=1 '$program' replay --speed 0 r.jsonl"
    ok "no colors" test -z "$(tr -cd '\033' <"$base/out")"
    on_tty "'$program' run"
    ok "a prompt is needed" is 2
fi

begin "shipped recordings"
for file in "$source"/fixtures/*.jsonl; do
    name=$(basename "$file")
    kt replay --headless "$file"
    ok "$name: prints the lines unchanged" cmp -s "$base/out" "$file"
    kt replay "$file"
    ok "$name: plain text" is 0
    ok "$name: no message" quiet
    kt replay --check "$file"
    ok "$name: agrees" is 0
    ok "$name: no scratch folder is left" test -z "$(ls "$TMPDIR")"
done

# One transcript with every event, in every format.

begin "plain text"
kt replay "$source/tests/e2e/account/all.jsonl"
ok "exit 0" is 0
golden all.txt
LC_ALL=C kt replay "$source/tests/e2e/account/all.jsonl"
golden all-ascii.txt
if command -v script >/dev/null; then
    on_tty "'$program' replay --speed 0 '$source/tests/e2e/account/all.jsonl'"
    sed -i 's/\r$//; s/\x1b/^[/g' "$base/out"
    golden all-color-60.txt
fi

begin "an answer that was interrupted"
cp "$source/tests/screens/cases/conversation-interrupted/canceled.jsonl" .
kt replay canceled.jsonl
ok "exit 0" is 0
ok "shows the text that arrived" out "Its second par"
ok "marks it as interrupted" out "(interrupted)"
ok "marks it once" test "$(grep -c '(interrupted)' "$base/out")" = 1

begin "plain text of programs"
kt replay "$source/tests/e2e/account/programs.jsonl"
ok "exit 0" is 0
golden programs.txt

begin "killed"
latency=100000 script_reads >m.jsonl
"$program" replay --execute --headless --speed 1 --workspace ws m.jsonl >"$base/out" 2>"$base/err" </dev/null &
pid=$!
for _ in $(seq 400); do out model.requested && break; sleep 0.05; done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
status=$?
ok "its scratch folder is left behind" test -d "$(echo tmp/keyturn-scratch-*/workspace)"
latency=1 script_reads >m.jsonl
kt replay --execute --headless --workspace ws m.jsonl
ok "the next one runs" is 0
ok "and removes the old folder" test -z "$(ls tmp)"

finish
