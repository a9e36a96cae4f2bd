#!/usr/bin/env bash
# Tests keyturn exec --ask from outside: a model writes scripts, a real sandbox runs them. $1 is the program.
set -u
tests=$(readlink -f "$(dirname "$0")")
. "$tests/outside.sh"
. "$tests/serving.sh"
serve() { # answers…: a server, and a config file with a model that asks it
    serve_model . "$@"
    printf '{"model": "claude", "models": {"claude": {"provider": "anthropic", "base_url": "%s", "model": "claude-x", "key_env": "MY_KEY"}}}\n' \
        "$url" >config/keyturn/config.json
}
sent() { grep -qF -- "$2" "asked/$1.request"; }
requests() { [ "$(ls asked | grep -c request)" -eq "$1" ]; }
types() { [ "$(grep -o '^{"type":"[a-z_]*"' "$base/out" | cut -d'"' -f4 | tr '\n' ' ')" = "$1" ]; }
last() { tail -n 1 "$base/out" | grep -qF -- "$1"; }
none_left() {
    for _ in $(seq 100); do
        [ -z "$(pgrep -f "$home/cache")" ] && [ -z "$(ls "$home/cache/keyturn/boxes")" ] && return
        sleep 0.05
    done
    return 1
}
says() { # text of an answer, with \n for line breaks
    answer 1 "$1" ""
}

begin "repaired script"
{
    head_lines x
    says 'I try.\n```python\nprint(\"one\")\nemit_result(nothing)\n```'
    says '```python\nopen(\"a\", \"w\").close()\nimport os\nemit_result(os.listdir())\n```'
} >m.jsonl
kt exec --model m.jsonl --ask "what is there?"
ok "exit 0" is 0
ok "the events in order" types "attempt log error attempt final_result run_record "
ok "the script" out '{"type":"attempt","attempt":1,"script":"print(\"one\")\nemit_result(nothing)\n"}'
ok "its error" out "NameError: name 'nothing' is not defined"
ok "the result, from a clean folder" out '"data":["a"]}'
ok "the record is last" last '{"type":"run_record","success":true,"why":"attempt 2 returned a result"'
ok "with tokens and time of each attempt" last '"tokens_in":10,"tokens_out":5,"latency_ms":'
ok "and its traceback" last 'File \"<script>\", line 2'
ok "no message on stderr" quiet
ok "no process left" none_left
kt exec --model m.jsonl --ask "what is there?" --attempts 1
ok "one attempt: 1" is 1
ok "the record is still printed" last '"success":false,"why":"the script failed: NameError'
ok "one line names the cause" one_error
kt exec --model m.jsonl --ask "what is there?" --timeout 5 --attempts 3 --max-output 40
ok "too much output each time, and no more answers: 1" is 1
ok "the error of the model" err "the model failed: the recording ends here"

begin "on a terminal"
{
    head_lines x
    says '```python\nprint(\"\\u001b[31mred\")\nemit_result(nothing)\n```'
    says '```python\nemit_result({\"n\": 42})\n```'
} >m.jsonl
on_tty "'$program' exec --model m.jsonl --ask x"
ok "exit 0" is 0
ok "no JSON" no_out '"type"'
ok "the model that it waits for" out 'asking hand'
ok "the number of the attempt" grep -q '^.*attempt 2' "$base/out"
ok "its lines" grep -q '^     1  emit_result({"n": 42})' "$base/out"
ok "its output, escaped" out '^[[31mred'
ok "the failing line" out '>    2  emit_result(nothing)'
ok "the result" out '"n": 42'
ok "the end" grep -q 'done in .* sandbox bwrap' "$base/out"

begin "no script"
{ head_lines x; says 'I would rather not.\nReally.'; } >m.jsonl
kt exec --model scripted:m.jsonl --ask x
ok "exit 1" is 1
ok "the model's text" err "keyturn: the model wrote no script: I would rather not."
ok "in one line" one_error
ok "only the record is printed" types "run_record "
ok "with the full text" last '"closing":"I would rather not.\nReally."'

begin "step by step"
{
    head_lines x
    says '```python\nopen(\"n\", \"w\").write(\"7\")\n```'
    says '```python\nemit_intermediate(\"n\", open(\"n\").read())\n```'
    says 'There are seven.'
} >m.jsonl
kt exec --mode interactive --model m.jsonl --ask x
ok "exit 0" is 0
ok "files stay" out '"label":"n","data":"7"'
ok "the last text of the model" last '"why":"the model finished after 2 steps","closing":"There are seven."'
{
    head_lines x
    says '```python\nemit_intermediate(\"n\", 1)\n```'
    says '```python\nemit_intermediate(\"n\", 2 - 1)\n```'
    says '```python\nemit_result(1)\n```'
} >m.jsonl
kt exec --mode interactive --model m.jsonl --ask x
ok "the same result twice: 1" is 1
ok "the error says so" err "keyturn: 2 steps in a row returned the same result"
ok "no process left" none_left

begin "tools and secrets"
mkdir tools
printf 'def double(x):\n    return 2 * x\n' >tools/more.py
{ head_lines x; says '```python\nimport os, base64\nprint(base64.b64encode(os.environ[\"API_TOKEN\"].encode()).decode(), os.environ[\"API_TOKEN\"])\nemit_result(double(21))\n```'; } >m.jsonl
API_TOKEN=open-sesame-4711 kt exec --tools tools --secret API_TOKEN --model m.jsonl --ask x
ok "exit 0" is 0
ok "the tool" out '"data":42'
ok "the secret is not printed" no_out open-sesame-4711
ok "not as base64 either" no_out "$(printf open-sesame-4711 | base64)"
ok "its name is" grep -q '"message":"\[secret API_TOKEN\].* \[secret API_TOKEN\]"' "$base/out"

begin "no sandbox"
{ head_lines x; says '```python\nemit_result(1)\n```'; } >m.jsonl
mkdir -p config/keyturn
printf '{"mine": {"argv": ["%s", "leave"], "env": []}}\n' "$source/tests/support/fake_harness.sh" >config/keyturn/engines.json
kt exec --engine mine --model m.jsonl --ask x
refused "mine ended with status 3 before it was ready: no room for you"
ok "no output" test ! -s "$base/out"

begin "a live model"
export MY_KEY=sk-live-0123456789-abcdef
mkdir tools
printf 'def double(x):\n    return 2 * x\n' >tools/more.py
serve 529 $'SAY:```python\nraise KeyError("sk-live-0123456789-abcdef")\n```' $'SAY:Again:\n```python\nemit_result(double(4))\n```'
kt exec --tools tools --ask "twice four"
ok "exit 0" is 0
ok "it was asked again" requests 3
ok "which was said" err "keyturn: model error: "
ok "what a script is" sent 1 "emit_intermediate(label, data)"
ok "its tools" sent 1 "These tools need no import either: double"
ok "the wish" sent 1 "twice four"
ok "the error goes back" sent 3 "It failed: KeyError: "
ok "and where it was" sent 3 'line 1, in <module>'
ok "the result" out '"data":8}'
ok "tokens" last '"tokens_in":1200,"tokens_out":100'
ok "no key is shown" test "$(cat "$base/out" "$base/err" | grep -c "$MY_KEY")" = 0
serve 401
kt exec --ask x
ok "a wrong key: 1" is 1
ok "only one request" requests 1
ok "names the fix" grep -q '^keyturn: the model failed: .*(.*key' "$base/err"
ok "without the key" test "$(cat "$base/out" "$base/err" | grep -c "$MY_KEY")" = 0

begin "signals"
cancel() { # signal, answer, and what the program waits for: the run of a script, or the model
    serve "$2"
    : >"$base/out"
    setsid "$program" exec --ask x >"$base/out" 2>"$base/err" </dev/null &
    local pid=$!
    for _ in $(seq 400); do $3 && break; sleep 0.05; done
    kill "-$1" "$pid"
    wait "$pid" 2>/dev/null
    status=$?
    ok "no process left ($1)" none_left
}
cancel INT $'SAY:```python\nemit_log("running")\nimport time\ntime.sleep(100)\n```' "out running"
ok "interrupted" is 130
ok "the record has the cause" last '"success":false,"why":"canceled"'
cancel TERM SILENT "test -e asked/1.request"
ok "terminated" is 143
cancel HUP WAIT "err again"
ok "hung up" is 129

finish
