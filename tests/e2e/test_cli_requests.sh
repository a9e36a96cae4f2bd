#!/usr/bin/env bash
# Tests requests to the model, from outside: secrets, the system prompt and the choice of the model. $1 is the program.
set -u
. "$(dirname "$0")/outside.sh"

value=sk-live-0123456789
no_secret() { ! grep -rqF -- "$value" "$base/out" "$base/err" "$XDG_DATA_HOME" "$XDG_STATE_HOME" 2>/dev/null; }

begin "secrets"
export MY_KEY=$value
printf 'key=%s\ntwo\n' "$value" >ws/a.txt
write_key='{"id":"c2","name":"write_file","arguments":{"path":"b.txt","content":"'$value'\n"}}'
{ head_lines "Look." && answer 1 "I look." "$read_a" && answer 2 "It is $value." "$write_key" && answer 3 "Kept $value." ""; } >m.jsonl
kt run --workspace ws --model m.jsonl --approve allow --secret MY_KEY "Find $value."
ok "exit 0" is 0
ok "shown as [secret MY_KEY]" out "[secret MY_KEY]"
ok "nowhere else" no_secret
ok "the file has the real value" grep -qxF "$value" ws/b.txt
kt run --headless --workspace ws --model m.jsonl --approve deny --secret MY_KEY x
ok "headless does not print it" no_secret
ok "headless prints its name" out "[secret MY_KEY]"
cp "$base/out" r.jsonl
kt replay --execute r.jsonl
ok "a replay says what it lacks" err "secret MY_KEY is redacted"
mkdir -p config/keyturn
printf '{"secrets": ["MY_KEY"]}\n' >config/keyturn/config.json
kt run --workspace ws --model m.jsonl --approve deny x
ok "the config file declares it" no_secret
ok "shown by its name" out "[secret MY_KEY]"
printf '{"models": {"m": {"provider": "anthropic", "model": "x", "key_env": "MY_KEY"}}}\n' >config/keyturn/config.json
kt run --workspace ws --model m.jsonl --approve deny x
ok "a model's key is a secret" no_secret
rm config/keyturn/config.json
MY_KEY=short kt run --workspace ws --model m.jsonl --approve deny --secret MY_KEY x
ok "a short value is not redacted, with a warning" err "fewer than 8 characters"
unset MY_KEY

begin "system prompt"
script_reads >m.jsonl
printf 'You are terse.\n' >sys.md
printf 'Use tabs.\n' >ws/AGENTS.md
kt run --headless --workspace ws --model m.jsonl --system sys.md x
ok "exit 0" is 0
ok "the system prompt of the option" grep -q '"turn.prepared","messages":\[{"role":"system","text":"You are terse.\\n"}' "$base/out"
ok "project instructions, marked" out '<project_instructions>\nUse tabs.\n</project_instructions>'
kt run --headless --workspace ws --model m.jsonl --no-project-instructions x
ok "without project instructions" no_out "Use tabs."
ok "the default system prompt" out "careful coding agent"
mkdir -p config/keyturn
printf '{"system_prompt": "Be brief.", "project_instructions": false}\n' >config/keyturn/config.json
kt run --headless --workspace ws --model m.jsonl x
ok "the system prompt of the config file" out '"text":"Be brief."'
ok "project instructions switched off there" no_out "Use tabs."
kt run --headless --workspace ws --model m.jsonl --system sys.md x
ok "the command line wins" out '"text":"You are terse.\n"'
cp -r ws r
kt run --headless --workspace ws --model m.jsonl --system sys.md --record r.jsonl x
kt replay --check r.jsonl
ok "the check uses the recorded system prompt" is 0
rm config/keyturn/config.json r.jsonl
kt run --headless --workspace ws --model m.jsonl --system sys.md --record r.jsonl x
kt replay --check r.jsonl
ok "project instructions too" is 0
kt run --workspace ws --model m.jsonl --system none.md x
refused "none.md"
: >empty.md
kt run --workspace ws --model m.jsonl --system empty.md x
refused "empty.md" "empty"
printf 'a\0b' >bytes.md
kt run --workspace ws --model m.jsonl --system bytes.md x
refused "bytes.md" "not a text file"

begin "compaction"
for i in 1 2 3; do seq -f "line %g of a file that is rather long" 1 90 >ws/f$i.txt; done
reads() { printf '{"id":"c%s","name":"read_file","arguments":{"path":"f%s.txt"}}' "$1" "$1"; }
{ head_lines "Read." && for i in 1 2 3; do answer $i "" "$(reads $i)"; done && answer 4 "All read." ""; } >m.jsonl
kt run --workspace ws --model m.jsonl --budget context_tokens=3500 --record r.jsonl "Read all of it."
ok "exit 0" is 0
ok "the plain text shows it" grep -q '^context .*tool results\? shortened' "$base/out"
ok "the event has what was done" grep -q '"type":"context.compacted","step":4,.*"parts":\[{"what":"results","first":' r.jsonl
ok "before its request" test "$(grep -n context.compacted r.jsonl | head -1 | cut -d: -f1)" -lt \
    "$(grep -n '"model.requested","step":4' r.jsonl | cut -d: -f1)"
cp -r ws r
kt replay --check r.jsonl
ok "the check agrees" is 0
mkdir -p config/keyturn
printf '{"compact": false}\n' >config/keyturn/config.json
kt run --workspace ws --model m.jsonl --budget context_tokens=3500 "Read all of it."
ok "not with 'compact': false" no_out "shortened"
kt replay --check r.jsonl
ok "the check of the recording still agrees" is 0

begin "no model"
kt run "Do it."
ok "exit 2" is 2
ok "the cause comes first" grep -q '^keyturn: no model is configured' "$base/err"
for word in '"provider": "anthropic"' '"provider": "openai"' openrouter.ai localhost:11434 llama.cpp key_env key_command \
    ANTHROPIC_API_KEY "keyturn demo" "$home/config/keyturn/config.json"; do
    ok "says: $word" err "$word"
done
ok "no output" test ! -s "$base/out"
kt run --headless x
ok "headless the same" is 2
ok "with the same help" err '"provider": "anthropic"'

begin "a key in an answer"
. "$source/tests/e2e/serving.sh"
serve_model . "SAY:My key is $value, as you know; in short sk-l"
for provider in anthropic openai; do
    printf '{"model": "m", "models": {"m": {"provider": "%s", "base_url": "%s", "model": "x", "key_env": "LIVE_KEY"}}}\n' \
        $provider "$url$([ $provider = openai ] && echo /v1)" >config/keyturn/config.json
    LIVE_KEY=$value kt run --headless --workspace ws "Say it."
    ok "$provider: exit 0" is 0
    ok "$provider: shown as [secret LIVE_KEY]" out "My key is [secret LIVE_KEY], as you know; in short sk-l"
    ok "$provider: nowhere else" no_secret
    ok "$provider: the deltas give the same text" test "$(sed -n 's/.*"model.delta".*"text":"\(.*\)"}$/\1/p' "$base/out" | tr -d '\n')" = \
        "My key is [secret LIVE_KEY], as you know; in short sk-l"
done
stop_model

finish
