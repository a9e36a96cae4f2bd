#!/usr/bin/env bash
# The program from outside: exit statuses, texts, files. $1 is the program.
# Every case has folders of its own; nothing of the user's is touched.
set -u
program=$(readlink -f "${1:?usage: test_cli.sh PROGRAM}")
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-cli-XXXXXX")
trap 'chmod -R u+rwX "$base"; rm -rf "$base"' EXIT
source=$(readlink -f "$(dirname "$0")/../..")
passed=0 failed=0
export LC_ALL=C.UTF-8 TERM=dumb
unset NO_COLOR KEYTURN_FIXTURES XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME

begin() { # case: fresh folders
    case_name=$1
    home=$base/${case_name// /_}
    mkdir -p "$home/ws" "$home/tmp"
    cd "$home" || exit 1
    export XDG_CONFIG_HOME=$home/config XDG_DATA_HOME=$home/data XDG_STATE_HOME=$home/state XDG_CACHE_HOME=$home/cache
    export HOME=$home TMPDIR=$home/tmp
    sessions=$XDG_DATA_HOME/keyturn/sessions
    printf 'one\ntwo\nthree\n' >ws/a.txt
    printf 'x\n' >ws/b.txt
}

ok() { # what, command…
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: %s\n' "$case_name" "$what"
        printf '  status %s\n' "${status-}"
        [ -f "$base/err" ] && sed 's/^/  stderr: /' "$base/err" | cut -c1-300 | head -5
        [ -f "$base/out" ] && sed 's/^/  stdout: /' "$base/out" | cut -c1-200 | head -12
    fi
}

kt() { # runs it: status, $base/out, $base/err
    timeout 60 "$program" "$@" >"$base/out" 2>"$base/err" </dev/null
    status=$?
}

is() { [ "$status" -eq "$1" ]; }
out() { grep -qF -- "$1" "$base/out"; }
no_out() { ! grep -qF -- "$1" "$base/out"; }
err() { grep -qF -- "$1" "$base/err"; }
one_error() { [ "$(wc -l <"$base/err")" -eq 1 ] && grep -q '^keyturn: ' "$base/err"; }
quiet() { [ ! -s "$base/err" ]; }
refused() { # text…: exit 2, one line that says all of these
    ok "exit 2" is 2
    ok "one line" one_error
    local text
    for text in "$@"; do ok "says: $text" err "$text"; done
}

golden() { # name; UPDATE_GOLDEN=1 takes what comes out as right
    [ -n "${UPDATE_GOLDEN-}" ] && cp "$base/out" "$source/tests/e2e/account/$1"
    ok "$1" diff "$source/tests/e2e/account/$1" "$base/out"
}

answer() { # step text calls
    printf '{"type":"model.responded","turn":1,"step":%s,"text":"%s","tool_calls":[%s],"stop":"%s","usage":{"input":10,"output":5},"cost_usd":0.001,"latency_ms":%s}\n' \
        "$1" "$2" "$3" "$([ -n "$3" ] && echo tool_use || echo end_turn)" "${latency:-1}"
}
head_lines() { # prompt
    printf '{"type":"session.started","v":1,"session":"s","model":{"provider":"scripted","name":"hand"}}\n'
    printf '{"type":"turn.started","turn":1,"prompt":"%s"}\n' "$1"
}
read_a='{"id":"c1","name":"read_file","arguments":{"path":"a.txt"}}'
edit_a='{"id":"c2","name":"edit_file","arguments":{"path":"a.txt","old":"two","new":"zwei"}}'

script_reads() { head_lines "Look." && answer 1 "I look." "$read_a" && answer 2 "Seen." ""; }
script_writes() { head_lines "Change it." && answer 1 "I look." "$read_a" && answer 2 "I write." "$edit_a" && answer 3 "Changed." ""; }

begin "help and version"
kt --version
ok "exit 0" is 0
ok "version" grep -qx 'keyturn [0-9.]*' "$base/out"
for page in --help "run --help" "help run" "help" "demo --help" "replay --help" "sessions --help" "doctor --help" "help config"; do
    kt $page
    ok "$page" is 0
    ok "$page is quiet" quiet
    ok "$page says something" test -s "$base/out"
done
kt run --help
ok "options of run" out "--approve ask|deny|allow"
kt run --version
ok "version everywhere" is 0
kt help nonsense
refused "nonsense"
kt
ok "alone" is 0
ok "alone names the demo" out "keyturn demo"

begin "wrong usage"
kt run --hedless x
refused "--hedless" "did you mean --headless"
kt rplay x
refused "did you mean keyturn replay"
kt run --speed 2 x
refused "belongs to keyturn replay"
kt run --web perhaps x
refused "off|auto|on"
kt run a b
refused "quotes"
kt replay
refused "needs FILE"
script_reads >m.jsonl
kt run --model m.jsonl --budget steps x
refused "--budget"
kt run --model m.jsonl --budget stepz=1 x
refused "stepz" "steps"
kt run --model m.jsonl --break tol=x x
refused "--break tol=x"
ok "no session of it" test ! -e "$sessions"
kt run --model m.jsonl --workspace nowhere x
refused "nowhere"
kt run $'--odd\noption'
refused "^J"
kt run --model m.jsonl --theme nope x
refused "--theme nope" "there is no theme"
kt replay --theme nope m.jsonl
refused "--theme nope"
kt run --model m.jsonl --tools nowhere x
refused "--tools nowhere"
kt run --model m.jsonl --tools m.jsonl x
refused "no folder"
kt run --model m.jsonl --engine bwrap x
refused "--engine bwrap" "not in this version" "none"
kt replay --check --engine bwrap m.jsonl
refused "--engine bwrap"
kt run --help
ok "every limit is named" out "context_tokens, tool_cap_s"
kt demo --help
ok "the demo's folder is another" out "where the files go and stay"
kt replay --help
ok "a replay's folder is another" out "only a copy is touched"

begin "models"
kt run hello
refused "no model" "scripted:FILE" "keyturn demo"
kt run --model nothing hello
refused "nothing"
kt run --model scripted:missing.jsonl hello
refused "keyturn: missing.jsonl"
mkdir -p config/keyturn
printf '{\n// two models\n"model":"far",\n"models":{"mine":{"provider":"scripted","file":"m.jsonl"},\n"far":{"provider":"anthropic"}}}\n' >config/keyturn/config.json
script_reads >config/keyturn/m.jsonl
kt run --workspace ws hello
refused "config.json:5:" "anthropic" "not available in this version"
kt run --workspace ws --model mine hello
ok "by name, file beside the config" is 0
kt run --workspace ws --model mien hello
refused "did you mean mine"

begin "models that cannot be read"
script_reads >m.jsonl
for wrong in '{"type":"model.responded","tool_calls":"nope"}' '{"type":"model.responded","usage":[]}' \
    '{"type":"model.responded","tool_calls":[{"id":"c1"}]}' '{"type":"waves.planned","waves":{}}' \
    '{"type":"write.proposed","files":1}' '{"type":"model.responded","text":7}' '{"type":'; do
    { head -2 m.jsonl; echo "$wrong"; tail -1 m.jsonl; } >bad.jsonl
    kt run --workspace ws --model scripted:bad.jsonl x
    refused "keyturn: bad.jsonl:3:"
    ok "no session of it" test ! -e "$sessions" -o -z "$(ls "$sessions" 2>/dev/null)"
    kt replay --check bad.jsonl
    refused "keyturn: bad.jsonl:3:"
done
{ cat m.jsonl; printf '{"type":"turn.fin'; } >cut.jsonl
kt run --workspace ws --model cut.jsonl x
ok "a cut one is played" is 0
ok "and that is said" err "cut.jsonl: the last line was cut off"

begin "config"
script_reads >m.jsonl
printf '{"model": "m.jsonl",\n "theme": "nope"}' >c.json
kt run --config c.json --workspace ws x
refused "c.json:2:" "theme" "nope"
kt doctor --config c.json
ok "the doctor finds it" grep -q '^FAIL *config.*c.json:2:.*nope' "$base/out"
printf '{"model": "a",\n "approve": "ask",\n "approve": "allow"}' >c.json
kt run --config c.json --workspace ws x
refused "c.json:3:" "approve" "twice"
printf '{\n "model": "m.jsonl",\n "aprove": "allow"\n}\n' >c.json
kt run --config c.json --workspace ws x
refused "keyturn: c.json:3:" "approve"
printf '{"parallel": "no"}' >c.json
kt run --config c.json --workspace ws x
refused "c.json:1:" "parallel"
kt run --config missing.json --workspace ws x
refused "missing.json"
truncate -s 1G c.json
kt run --config c.json --workspace ws x
refused "c.json" "larger"
printf '{"model": "m.jsonl", "budget": {"steps": 1}} // short' >c.json
kt run --config c.json --workspace ws x
ok "limit of the file" is 1
kt run --config c.json --budget steps=5 --workspace ws x
ok "the command line wins" is 0
head -c 100000 /dev/urandom >c.json
kt run --config c.json --workspace ws x
refused "c.json"

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
ok "alone shows it" out "$id"
kt replay "$id"
ok "replay by name" is 0
ok "tells the same" out "Seen."
rm "$XDG_DATA_HOME/keyturn/keyturn.db"
kt sessions
ok "listed without the database" out "$id"
rm "$sessions"/*.jsonl
kt sessions
ok "gone is gone" out "No sessions yet"

begin "prompt from standard input"
script_reads >m.jsonl
printf 'From a pipe.\n' | timeout 60 "$program" run --workspace ws --model m.jsonl >"$base/out" 2>"$base/err"
status=$?
ok "exit 0" is 0
ok "prompt" out "From a pipe."
head -c 1048577 /dev/zero | tr '\0' a | timeout 60 "$program" run --workspace ws --model m.jsonl >"$base/out" 2>"$base/err"
status=$?
refused "1 MiB"
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
ok "nobody asked: 4" is 4
ok "untouched" grep -qx two ws/a.txt
ok "the diff is told" out "+zwei"
ok "the refusal is told" out "denied by policy"
kt run --workspace ws --model m.jsonl --approve deny x
ok "denied by the user's word: 0" is 0
ok "still untouched" grep -qx two ws/a.txt
kt run --workspace ws --model m.jsonl --approve allow x
ok "allowed: 0" is 0
ok "written" grep -qx zwei ws/a.txt
ok "told" out "wrote a.txt +1 -1"
ok "kept for undo" test -n "$(ls "$XDG_DATA_HOME/keyturn/checkpoints")"

begin "headless"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
ok "exit 0" is 0
ok "what is printed is what is recorded" cmp -s "$base/out" r.jsonl
ok "first line" grep -q '"seq":1,.*session.started' <(head -1 r.jsonl)
ok "last line" grep -q '"session.ended","reason":"quit"' <(tail -1 r.jsonl)
ok "a recording elsewhere leaves none here" test ! -e "$sessions" -o -z "$(ls "$sessions" 2>/dev/null)"
kt run --headless --workspace ws --model m.jsonl --record r.jsonl x
refused "r.jsonl" "exists already"
kt run --headless --workspace ws --model m.jsonl --break tool=read_file x
ok "a breakpoint holds" out '"type":"held","gate":"before tool"'
ok "and nobody lets go" out '"by":"nobody"'
kt run --headless --workspace ws --model m.jsonl --step x
ok "--step holds" out '"type":"held"'
kt run --headless --workspace ws --model m.jsonl --serial --web off --engine none --theme mono x
ok "options are taken" out '"type":"turn.finished"'

begin "ends that are not good"
head_lines x >m.jsonl
kt run --workspace ws --model m.jsonl x
ok "the model has no answer: 1" is 1
ok "status" grep -q '^failed' "$base/out"
script_writes >m.jsonl
kt run --workspace ws --model m.jsonl --budget steps=1 x
ok "the budget ends: 1" is 1
ok "status" grep -q '^budget' "$base/out"
ok "the account says it" quiet
kt run --headless --workspace ws --model m.jsonl --budget steps=1 x
ok "headless: 1" is 1
ok "headless: a line for people" one_error
ok "headless: says why" err "budget"
head_lines x >m.jsonl
kt run --headless --workspace ws --model m.jsonl x
ok "headless, failed: 1" is 1
ok "headless, failed: a line for people" one_error
ok "headless, failed: says why" err "the recording ends here"

begin "replay"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
sum=$(cat r.jsonl | sha256sum)
kt replay --headless r.jsonl
ok "exit 0" is 0
ok "the very lines" cmp -s "$base/out" r.jsonl
kt replay --headless --until 5 r.jsonl
ok "until 5" cmp -s "$base/out" <(head -5 r.jsonl)
kt replay --headless --speed 1000 r.jsonl
ok "at a pace" cmp -s "$base/out" r.jsonl
kt replay r.jsonl
ok "as an account" out "wrote a.txt +1 -1"
kt replay m.jsonl
ok "a hand-written one" out "I write."
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
ok "never changed" test "$(cat r.jsonl | sha256sum)" = "$sum"

begin "run again"
script_writes >m.jsonl
cp -r ws before
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
kt replay --check --workspace before r.jsonl
ok "agrees" is 0
ok "says so" out "events agree"
ok "counts what was compared" test "$(grep -o '[0-9]* events' "$base/out")" != "$(wc -l <r.jsonl) events"
ok "on one line" test "$(wc -l <"$base/out")" -eq 1
kt replay --check --workspace ws r.jsonl
ok "departs: 3" is 3
ok "one line" one_error
place='^keyturn: r.jsonl: departed at seq [1-9][0-9]*: [a-z.]*\.[a-z_.]*[^ ]*: recorded .*, got '
ok "names the place" grep -q "$place" "$base/err"
kt replay --execute --headless --workspace before --record again.jsonl r.jsonl
ok "executes" is 0
ok "prints what it records" cmp -s "$base/out" again.jsonl
ok "decided by the recording" out '"by":"recording"'
ok "the folder is only copied" grep -qx two before/a.txt
kt replay --execute --workspace ws r.jsonl
ok "departs" is 3
ok "names them" test "$(grep -c "$place" "$base/err")" -gt 1
ok "in these words only" test "$(grep -vc "$place" "$base/err")" -eq 0
kt replay --execute --workspace before --record r.jsonl r.jsonl
refused "r.jsonl"
kt replay --execute --workspace before --approve deny r.jsonl
ok "another decision departs" is 3
for type in turn.finished writes.closed checkpoint.saved turn.prepared; do
    grep -v "\"type\":\"$type\"" r.jsonl >less.jsonl
    kt replay --check --workspace before less.jsonl
    ok "without $type: departs" is 3
    ok "without $type: named, after what" grep -q "departed at seq [1-9][0-9]*: $type.event: recorded nothing" "$base/err"
done
sed 's/"stop":"end_turn"/"stop":"max_tokens"/; s/"text":"Changed."/"text":"Done."/' m.jsonl >other.jsonl
kt replay --check --workspace before --model other.jsonl r.jsonl
ok "another answer departs" err "model.responded.text: recorded Changed., got Done."
sed 's/"stop":"end_turn"/"stop":"max_tokens"/' m.jsonl >other.jsonl
kt replay --check --workspace before --model other.jsonl r.jsonl
ok "another end departs" err "model.responded.stop: recorded end_turn, got max_tokens"
decided=$(grep -n '"type":"write.decided"' r.jsonl | cut -d: -f1)
sed 's/"type":"turn.finished","status":"done"/"type":"turn.finished","status":"failed"/' r.jsonl >end.jsonl
kt replay --check --workspace before end.jsonl
ok "the end departs" err "turn.finished.status"
kt replay --check --workspace before --until "$decided" end.jsonl
ok "but not until then" is 0
ok "counts up to then" test "$(grep -o '[0-9]* events' "$base/out" | cut -d' ' -f1)" -lt "$decided"
kt replay --execute --headless --workspace before --until "$decided" end.jsonl
ok "execution stops there" is 0
ok "and is over" out '"type":"session.ended"'
ok "before it was done" no_out '"status":"done"'
kt replay --check --workspace before --until 1 r.jsonl
refused "r.jsonl" "--until"
{ cat r.jsonl; printf '{"type":"turn.fin'; } >cut.jsonl
kt replay --check --workspace before cut.jsonl
ok "a cut one agrees" is 0
ok "and that is said" err "cut.jsonl: the last line was cut off"
grep -v 'turn.finished\|session.ended' r.jsonl >early.jsonl
kt replay --check --workspace before early.jsonl
ok "one that ends early agrees" is 0
ok "and that is said" err "in the middle of a turn"
kt replay --check r.jsonl
ok "no folder beside it: said" err "empty folder"
cp -r before r
kt replay --check r.jsonl
ok "a folder beside it: quiet" quiet
kt replay --check r.jsonl
ok "the files beside the recording" is 0
rm -r r
kt replay --execute r.jsonl
ok "no files: said" err "empty folder"
ok "no files: departs" is 3
ok "no scratch is left" test -z "$(ls "$TMPDIR")"
head -1 m.jsonl >none.jsonl
kt replay --check none.jsonl
refused "none.jsonl" "no turn"

begin "two turns and tools that are not here"
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

begin "interrupted"
latency=60000 script_reads >slow.jsonl
for times in 1 2; do
    "$program" replay --execute --headless --speed 1 slow.jsonl >"$base/out" 2>"$base/err" </dev/null &
    pid=$!
    for _ in $(seq 200); do grep -q model.requested "$base/out" && break; sleep 0.05; done
    kill -INT $pid
    [ $times -eq 2 ] && kill -INT $pid 2>/dev/null
    wait $pid
    status=$?
    ok "$times x: 130" is 130
    [ $times -eq 1 ] && ok "the turn says so" out '"status":"cancelled"'
    [ $times -eq 1 ] && ok "and so does the session" out '"type":"session.ended","reason":"interrupted"'
    ok "$times x: no scratch is left" test -z "$(ls "$TMPDIR")"
done
for signal in TERM:143 HUP:129; do
    "$program" replay --execute --headless --speed 1 slow.jsonl >"$base/out" 2>"$base/err" </dev/null &
    pid=$!
    for _ in $(seq 200); do grep -q model.requested "$base/out" && break; sleep 0.05; done
    kill -"${signal%:*}" $pid
    wait $pid
    status=$?
    ok "$signal" is "${signal#*:}"
    ok "$signal: the turn says so" out '"status":"cancelled"'
    ok "$signal: no scratch is left" test -z "$(ls "$TMPDIR")"
done
printf '%s\n' '{"seq":1,"t":0,"turn":0,"type":"session.started","v":1}' '{"seq":2,"t":90000000,"turn":0,"type":"session.ended"}' >r.jsonl
"$program" replay --headless --speed 1 r.jsonl >"$base/out" 2>"$base/err" </dev/null &
pid=$!
for _ in $(seq 200); do [ -s "$base/out" ] && break; sleep 0.05; done
kill -INT $pid
wait $pid
status=$?
ok "a replay: 130" is 130

begin "standard output that fails"
script_writes >m.jsonl
timeout 60 "$program" run --headless --workspace ws --model m.jsonl x 2>"$base/err" >/dev/full </dev/null
status=$?
ok "full: 1" is 1
ok "said" err "No space left"
ok "one line" one_error
timeout 60 "$program" run --workspace ws --model m.jsonl x 2>"$base/err" </dev/null | true
status=${PIPESTATUS[0]}
ok "nobody reads: 1" is 1
ok "said" err "standard output"
timeout 60 "$program" replay --headless m.jsonl >/dev/full 2>"$base/err"
status=$?
ok "replay: 1" is 1
timeout 60 "$program" --help >/dev/full 2>"$base/err"
status=$?
ok "help: 1" is 1
timeout 60 "$program" run --workspace ws --model m.jsonl --approve deny x >&- 2>"$base/err" </dev/null
status=$?
ok "closed: runs" is 0

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
ok "what came before is shown" cmp -s "$base/out" <(head -2 m.jsonl)
kt replay bad.jsonl
refused "keyturn: bad.jsonl:3:"
ok "what came before is told" out "Look."
kt replay --check bad.jsonl
refused "bad.jsonl:3:"
{ cat m.jsonl; printf '{"type":"turn.fin'; } >cut.jsonl
kt replay --headless cut.jsonl
ok "cut: 0" is 0
ok "cut: a notice" err "cut"
ok "cut: the rest is there" cmp -s "$base/out" m.jsonl
{ head -2 m.jsonl; echo '{"type":"something.new","turn":1,"x":[1,2]}'; tail -2 m.jsonl; } >unknown.jsonl
kt replay unknown.jsonl
ok "unknown types are no error" is 0
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
ok "spelled out" out '<U+202E>'
kt run --workspace ws --model m.jsonl x
ok "live as well" test -z "$(tr -cd '\033\007' <"$base/out")"
printf 'umlaut \xc3\xbc' | LC_ALL=C timeout 60 "$program" run --workspace ws --model m.jsonl >"$base/out" 2>"$base/err"
ok "ASCII in a C locale" test -z "$(LC_ALL=C tr -d '\001-\177' <"$base/out")"
ok "and nothing is lost" out 'umlaut <U+00FC>'
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
ok "prose keeps its lines" grep -qx ' *Two\.' "$base/out"
kt replay $'\033[2J.jsonl'
ok "no escapes in errors" test -z "$(tr -cd '\033' <"$base/err")"

begin "a terminal"
script_writes >m.jsonl
kt run --headless --workspace ws --model m.jsonl --approve allow --record r.jsonl x
on_tty() { # command as one word, size set first; only its output is a terminal, so nobody is there to press keys
    TERM=xterm-256color script -qec "stty cols 60 rows 20; { $1; } </dev/null" /dev/null </dev/null >"$base/out" 2>"$base/err"
    status=$?
}
if command -v script >/dev/null; then
    on_tty "'$program' replay --speed 0 r.jsonl"
    ok "exit 0" is 0
    ok "colours" grep -q $'\033\\[32m' "$base/out"
    ok "fits" test "$(sed 's/\x1b\[[0-9;]*m//g; s/\r$//' "$base/out" | wc -L)" -le 60
    on_tty "NO_COLOR=1 '$program' replay --speed 0 r.jsonl"
    ok "no colours" test -z "$(tr -cd '\033' <"$base/out")"
    on_tty "'$program' run"
    ok "a prompt is needed" is 2
fi

begin "folders and database"
script_reads >m.jsonl
XDG_DATA_HOME=/dev/null kt run --workspace ws --model m.jsonl x
refused "/dev/null" "XDG_DATA_HOME"
XDG_STATE_HOME=/dev/null XDG_CACHE_HOME=/dev/null kt run --workspace ws --model m.jsonl x
ok "no log and no cache: runs" is 0
mkdir -p "$XDG_DATA_HOME/keyturn"
head -c 5000 /dev/urandom >"$XDG_DATA_HOME/keyturn/keyturn.db"
kt run --workspace ws --model m.jsonl x
ok "a broken database: runs" is 0
ok "says so once" test "$(grep -c keyturn.db "$base/err")" -eq 1
kt sessions
ok "and sessions are listed" is 0
ok "from the journals" out "x"

begin "doctor"
kt doctor
ok "exit 0" is 0
ok "config" grep -q '^ok *config' "$base/out"
ok "kernel" grep -q '^ok *kernel' "$base/out"
mkdir -p config/keyturn
echo '{"modle":1}' >config/keyturn/config.json
kt doctor
ok "a broken config: 1" is 1
ok "with its line" out "config.json:1:"
rm config/keyturn/config.json
XDG_DATA_HOME=/dev/null kt doctor
ok "no data folder: 1" is 1
ok "named" grep -q '^FAIL *data.*/dev/null' "$base/out"

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
ok "no scratch is left" test -z "$(ls "$TMPDIR")"
ok "the fixture is untouched" grep -qx two "$kt_fixtures/demo/a.txt"
kt demo --headless
ok "headless" grep -q '"type":"session.ended"' "$base/out"
kt demo --workspace new
ok "kept" grep -qx zwei new/a.txt
ok "named" err "new"
kt demo --workspace new
refused "new" "not empty"
kt demo --approve ask
ok "asked, and nobody there: 4" is 4
unset KEYTURN_FIXTURES
KEYTURN_FIXTURES=$home/nowhere kt demo
ok "the shipped one or a clear error" test "$status" -eq 0 -o "$status" -eq 2

begin "shipped recordings"
for file in "$source"/fixtures/*.jsonl; do
    name=$(basename "$file")
    kt replay --headless "$file"
    ok "$name: the very lines" cmp -s "$base/out" "$file"
    kt replay "$file"
    ok "$name: an account" is 0
    ok "$name: quiet" quiet
    kt replay --check "$file"
    ok "$name: agrees" is 0
    ok "$name: no scratch is left" test -z "$(ls "$TMPDIR")"
done

# One transcript with everything in it, told in every dress.
begin "the account"
kt replay "$source/tests/e2e/account/all.jsonl"
ok "exit 0" is 0
golden all.txt
LC_ALL=C kt replay "$source/tests/e2e/account/all.jsonl"
golden all-ascii.txt
if command -v script >/dev/null; then
    on_tty "'$program' replay --speed 0 '$source/tests/e2e/account/all.jsonl'"
    sed -i 's/\r$//; s/\x1b/^[/g' "$base/out"
    golden all-colour-60.txt
fi

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
