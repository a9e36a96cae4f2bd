#!/usr/bin/env bash
# Tests the command line: help, wrong usage, models, config, folders, doctor. $1 is the program.
set -u
. "$(dirname "$0")/outside.sh"

begin "help and version"
kt --version
ok "exit 0" is 0
ok "version" grep -qx 'keyturn [0-9.]*' "$base/out"
for page in --help "run --help" "help run" "help" "demo --help" "replay --help" "sessions --help" "doctor --help" "help config"; do
    kt $page
    ok "$page" is 0
    ok "$page is quiet" quiet
    ok "$page is not empty" test -s "$base/out"
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
ok "no session is created" test ! -e "$sessions"
kt run --model m.jsonl --workspace nowhere x
refused "nowhere"
kt run $'--odd\noption'
refused "^J"
kt run --model m.jsonl --theme nope x
refused "--theme nope" "unknown theme"
kt replay nope
refused "cannot open 'nope': no such file or session; keyturn sessions lists them"
kt replay --check nope
refused "cannot open 'nope': no such file or session; keyturn sessions lists them"
kt replay /etc/passwd
refused "/etc/passwd:1: not a Keyturn transcript: it does not begin with a JSON object"
kt replay --theme nope m.jsonl
refused "--theme nope"
kt run --model m.jsonl --tools nowhere x
refused "--tools nowhere"
kt run --model m.jsonl --tools m.jsonl x
refused "not a folder"
kt run --model m.jsonl --engine bwarp x
refused "bwarp" "did you mean bwrap"
kt replay --check --engine nothing-like-it m.jsonl
refused "nothing-like-it" "unknown engine"
mkdir -p "$XDG_CONFIG_HOME/keyturn"
printf '{\n  "mine": {"argv": ["x", "{wspace}"]}\n}\n' >"$XDG_CONFIG_HOME/keyturn/engines.json"
kt run --model m.jsonl --engine mine x
refused "engines.json:2: " "{wspace}"
rm "$XDG_CONFIG_HOME/keyturn/engines.json"
for seconds in 0.5 0 -5 604801 700000 soon; do
    kt exec --timeout "$seconds" m.jsonl
    refused "--timeout takes 1 to 604800 seconds"
done
kt exec --ask x m.jsonl
refused "--ask lets a model write the script (leave out FILE)"
kt exec --ask x -
refused "--ask lets a model write the script (leave out -)"
kt exec --attempts 2 m.jsonl
refused "--attempts needs --ask TEXT"
kt exec --ask x --attempts 0
refused "--attempts must be an integer of at least 1"
kt exec --ask x --model nothing-like-it
refused "unknown model"
kt exec --ask x
ok "no model: 2" is 2
ok "the error says so" err "keyturn: no model is configured"
ok "and shows a model entry" err '"provider": "anthropic"'
kt exec nowhere.py
refused "nowhere.py"
kt exec --mode plane x.py
refused "plan|interactive"
kt exec --engine ssh m.jsonl
refused "needs a host" "ssh:HOST"
kt run --help
ok "every limit is listed" out "context_tokens, tool_cap_s"
kt demo --help
ok "--workspace of demo has its own help" out "put the files into DIR and keep them"
kt replay --help
ok "a replay's folder is another" out "changes only a copy"

begin "models"
kt run hello
ok "exit 2" is 2
ok "the first line names the cause" grep -q '^keyturn: no model is configured .*scripted:FILE.*keyturn demo' <(head -1 "$base/err")
ok "the rest shows a model entry" err '"provider": "anthropic"'
kt run --model nothing hello
refused "nothing"
kt run --model scripted:missing.jsonl hello
refused "cannot open 'missing.jsonl'"
mkdir -p config/keyturn
printf '{\n// two models\n"model":"far",\n"models":{"mine":{"provider":"scripted","file":"m.jsonl"},\n"far":{"provider":"anthropic"}}}\n' >config/keyturn/config.json
script_reads >config/keyturn/m.jsonl
kt run --workspace ws hello
refused "config.json:5:" "far" "has no \"model\""
kt run --workspace ws --model mine hello
ok "by name, file beside the config" is 0
kt run --workspace ws --model mien hello
refused "did you mean mine"

begin "invalid scripted models"
script_reads >m.jsonl
for wrong in '{"type":"model.responded","tool_calls":"nope"}' '{"type":"model.responded","usage":[]}' \
    '{"type":"model.responded","tool_calls":[{"id":"c1"}]}' '{"type":"waves.planned","waves":{}}' \
    '{"type":"write.proposed","files":1}' '{"type":"model.responded","text":7}' '{"type":'; do
    { head -2 m.jsonl; echo "$wrong"; tail -1 m.jsonl; } >bad.jsonl
    kt run --workspace ws --model scripted:bad.jsonl x
    refused "keyturn: bad.jsonl:3:"
    ok "no session is created" test ! -e "$sessions" -o -z "$(ls "$sessions" 2>/dev/null)"
    kt replay --check bad.jsonl
    refused "keyturn: bad.jsonl:3:"
done
{ cat m.jsonl; printf '{"type":"turn.fin'; } >cut.jsonl
kt run --workspace ws --model cut.jsonl x
ok "a truncated recording is played" is 0
ok "with a warning" err "cut.jsonl: the last line is incomplete"

begin "config"
script_reads >m.jsonl
printf '{"model": "m.jsonl",\n "theme": "nope"}' >c.json
kt run --config c.json --workspace ws x
refused "c.json:2:" "theme" "nope"
kt doctor --config c.json
ok "doctor reports it" grep -q '^FAIL *config.*c.json:2:.*nope' "$base/out"
printf '{"model": "a",\n "approve": "ask",\n "approve": "allow"}' >c.json
kt run --config c.json --workspace ws x
refused "c.json:3:" "approve" "duplicate key"
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
ok "limit of the config file" is 1
kt run --config c.json --budget steps=5 --workspace ws x
ok "the command line wins" is 0
head -c 100000 /dev/urandom >c.json
kt run --config c.json --workspace ws x
refused "c.json"

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
ok "one warning" test "$(grep -c keyturn.db "$base/err")" -eq 1
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
mkdir -p more/one more/two
printf -- '---\nname: same\n---\n' | tee more/one/SKILL.md >more/two/SKILL.md
echo "{\"skills\": [\"$PWD/more\", \"/no/skills\"], \"workspace\": {\"inputs\": [\"/no/inputs\"]}}" >config/keyturn/config.json
kt doctor
ok "a missing folder is only a warning" is 0
ok "of skills" grep -q '^warn *config *"skills": no folder /no/skills' "$base/out"
ok "of inputs" grep -q '^warn *config *"workspace.inputs": no folder /no/inputs' "$base/out"
ok "a hidden skill is a warning too" grep -q '^warn *skills.*more/two is hidden' "$base/out"
ok "the scope of program limits" grep -Eq '^(ok|warn) *programs .*memory_mb' "$base/out"
rm config/keyturn/config.json
XDG_DATA_HOME=/dev/null kt doctor
ok "no data folder: 1" is 1
ok "doctor names it" grep -q '^FAIL *data.*/dev/null' "$base/out"

finish
