#!/usr/bin/env bash
# Tests live models from outside, against a server on the loopback: both dialects with a tool call, retries, an
# interrupted stream, keys. $1 is the program.
set -u
tests=$(readlink -f "$(dirname "$0")")
. "$tests/outside.sh"
. "$tests/serving.sh"

key=sk-live-0123456789-abcdef

serve() { # answers…: a server, and a config file with a model of each dialect
    serve_model . "$@"
    cat >config/keyturn/config.json <<END
{"model": "claude",
 "models": {
   "claude": {"provider": "anthropic", "base_url": "$url", "model": "claude-x", "key_env": "MY_KEY",
              "options": {"temperature": 0.5}, "prices": {"input": 3, "output": 15, "cache_read": 0.3}},
   "gpt": {"provider": "openai", "base_url": "$url/v1", "model": "gpt-x", "key_command": "echo $key"}}}
END
}
sent() { grep -qF -- "$2" "asked/$1.request"; }
not_sent() { ! grep -qF -- "$2" "asked/$1.request"; }
requests() { [ "$(ls asked | grep -c request)" -eq "$1" ]; }
no_key() { ! grep -rqF -- "$key" "$base/out" "$base/err" "$XDG_DATA_HOME" "$XDG_STATE_HOME"; }
events() { [ "$(grep -c "\"type\":\"$1\"" "$base/out")" -eq "$2" ]; }
export MY_KEY=$key

begin "anthropic"
serve CALL TEXT
kt run --headless --workspace ws "Look at a."
ok "exit 0" is 0
ok "which model" out '"model":{"provider":"anthropic","name":"claude-x"}'
ok "the call" out '"tool_calls":[{"id":"toolu_1","name":"read_file","arguments":{"path":"a.txt"}}]'
ok "its text" out '"text":"All seen."'
ok "usage counts all prompts" out '"usage":{"input":1200,"output":100,"cache_read":200,"cache_write":0}'
ok "cost" out '"cost_usd":0.00456,'
ok "two requests" requests 2
ok "the path" sent 1 "POST /v1/messages HTTP/1.1"
ok "the key goes to the server" sent 1 "x-api-key: $key"
ok "the option" sent 1 '"temperature":0.5'
ok "the tools" sent 1 '"name":"read_file"'
ok "the prompt" sent 1 'Look at a.'
ok "the result goes back" sent 2 '{"type":"tool_result","tool_use_id":"toolu_1"'
ok "with the file" sent 2 'two'
ok "the key is nowhere else" no_key
kt run --workspace ws "Look at a."
ok "the plain text has the answer" out "All seen."
ok "and not the key" no_key

begin "openai"
serve CALL TEXT
kt run --headless --model gpt --workspace ws "Look at a."
ok "exit 0" is 0
ok "which model" out '"model":{"provider":"openai","name":"gpt-x"}'
ok "the call" out '"tool_calls":[{"id":"call_1","name":"read_file","arguments":{"path":"a.txt"}}]'
ok "its text" out '"text":"All seen."'
ok "no price, no cost" out '"cost_usd":null'
ok "the path" sent 1 "POST /v1/chat/completions HTTP/1.1"
ok "the key of the command" sent 1 "Authorization: Bearer $key"
ok "the result goes back" sent 2 '{"role":"tool","tool_call_id":"call_1"'
ok "the key is nowhere else" no_key

begin "retries"
serve 529 429 TEXT
kt run --headless --workspace ws hello
ok "exit 0" is 0
ok "two failures" events model.failed 2
ok "with the delay that the server requested" out '"attempt":2,"retry_in_ms":30}'
ok "as text" out '529 from 127.0.0.1: some_error: Key [secret MY_KEY] is not liked'
ok "three requests" requests 3
ok "an error does not show the key" no_key
serve 401
kt run --workspace ws hello
ok "a refused key: exit 1" is 1
ok "no second request" requests 1
ok "the error is shown" out '401 from 127.0.0.1: some_error: Key [secret MY_KEY] is not liked'
ok "with the fix" out '(check'
serve WAIT
kt run --headless --workspace ws --budget wall_s=20 hello
ok "a requested delay longer than the turn: exit 1" is 1
ok "without a retry" out '"retry_in_ms":null'
ok "the error is shown" out 'retry after 40 s, but the turn has'

begin "a key and plain http"
for how in '"key_env": "MY_KEY"' '"key_command": "touch ran; echo a-key-of-ours"'; do
    mkdir -p config/keyturn
    printf '{"model": "far", "models": {"far": {"provider": "openai", "base_url": "http://models.invalid/v1", "model": "x", %s}}}\n' \
        "$how" >config/keyturn/config.json
    kt run --headless --workspace ws hello
    refused 'model "far" would send its key over plain http to models.invalid. Use https, or set "allow_http": true for it.'
    ok "the command was not run" test ! -e ran
    sed -i 's/"model": "x",/"model": "x", "allow_http": true,/' config/keyturn/config.json
    kt run --headless --workspace ws --budget wall_s=2 hello
    ok "with allow_http the request is sent" out 'no answer from http://models.invalid'
    rm -f ran
done

begin "too long"
seq 500 >ws/a.txt
for model in claude gpt; do
    serve CALL LONG TEXT
    kt run --headless --model $model --workspace ws --record $model.jsonl hello
    ok "exit 0" is 0
    ok "one failure, no wait" out '"retry_in_ms":0}'
    ok "context shortened" out '"type":"context.compacted","step":2,'
    ok "three requests" requests 3
    ok "the last one is smaller" [ $(stat -c %s asked/3.request) -lt $(stat -c %s asked/2.request) ]
    stop_model
    kt replay --check --workspace ws $model.jsonl
    ok "the check of the recording agrees" is 0
done
printf 'one\ntwo\n' >ws/a.txt
serve CALL:read_file:'{"path":"none"}' TEXT
kt run --headless --workspace ws hello
ok "the request marks the failed call" sent 2 '"is_error":true'

begin "cut off"
serve CUT CALL TEXT
kt run --headless --workspace ws hello
ok "exit 0" is 0
ok "one failure" out '"error":"the answer ended early'
ok "one call, not two" events tool.started 1
ok "three requests" requests 3
kill "$server"
wait "$server" 2>/dev/null
server=
kt run --workspace ws hello
ok "no server: exit 1" is 1
ok "the error names the address" out "no answer from http://127.0.0.1:"

begin "out of time"
serve SILENT
kt run --headless --workspace ws --budget wall_s=1 hello
ok "the time limit ends the turn" out '"status":"budget"'
ok "one request" requests 1
until [ -e asked/gone ]; do sleep 0.05; done # and with it the connection

begin "certificates"
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=test -addext subjectAltName=IP:127.0.0.1 \
    -keyout key.pem -out cert.pem 2>/dev/null
export TLS_CERT=$home/cert.pem TLS_KEY=$home/key.pem
serve TEXT
unset TLS_CERT TLS_KEY
kt run --headless --workspace ws hello
ok "an untrusted certificate: exit 1" is 1
ok "the error names the cause" out 'certificate'
ok "no retry, because it cannot help" events model.failed 1
ok "nothing was sent" requests 0
export SSL_CERT_FILE=$home/cert.pem
kt run --headless --workspace ws hello
ok "a trusted certificate: exit 0" is 0
ok "one request" requests 1
unset SSL_CERT_FILE

begin "limits and secrets that have no effect"
serve TEXT
kt run --headless --workspace ws --budget cost_usd=1 hello
ok "a model with prices has a limit" test -z "$(grep "has no effect" "$base/err")"
kt run --headless --workspace ws --model gpt --budget cost_usd=1 hello
ok "a model without prices warns that the limit has no effect" err 'model "gpt" has no "prices" in the config file'
kt run --headless --workspace ws --secret NOT_THERE hello
ok "a variable that is not set" err "--secret NOT_THERE: no such environment variable"
MY_KEY=short kt run --headless --workspace ws hello
ok "a key that is too short warns once" test "$(grep -c "fewer than 8\|too short" "$base/err")" = 1

begin "instead of a recording"
serve TEXT
script_reads >r.jsonl
kt replay --execute --model claude r.jsonl
ok "a live model in place of the recorded one" requests 1
kt replay --check --model claude r.jsonl
ok "--check refuses a live model" is 2
ok "with the reason" err "uses the recorded model"

begin "keys and names"
serve TEXT
unset MY_KEY
kt run --workspace ws hello
refused "config.json:3:" '$MY_KEY is not set'
export MY_KEY=$key
printf '{"model":"a","models":{"a":{"provider":"anthropic","model":"m"},\n"b":{"provider":"openai","model":"m","key_command":"exit 3"},\n"c":{"provider":"openai"}}}\n' >config/keyturn/config.json
kt run --workspace ws hello
refused "ANTHROPIC_API_KEY"
kt run --workspace ws --model b hello
refused "config.json:2:" "key_command" "status 3"
kt run --workspace ws --model c hello
refused "config.json:3:" 'has no "model"'
kt doctor
ok "doctor names the variable of the key" out "set the environment variable ANTHROPIC_API_KEY"
printf '{"model":"a","models":{"a":{"provider":"openai","model":"m","base_url":"http://me:%s@127.0.0.1:1"}}}\n' "$key" >config/keyturn/config.json
kt run --workspace ws hello
refused "config.json:1:" "must not contain a user or password"
ok "the error does not repeat the password" no_key
printf '{"model":"a","models":{"a":{"provider":"openai","model":"m","key_env":"%s"}}}\n' "$key" >config/keyturn/config.json
kt run --workspace ws hello
refused "config.json:1:" "is not the name of an environment variable"
ok "the error does not repeat the key" no_key
kt doctor
ok "doctor does not print it" no_key
printf '{"models":{"a":{"provider":"antropic","model":"m"}}}\n' >config/keyturn/config.json
kt run --workspace ws --model a hello
refused "config.json:1:" 'did you mean "anthropic"'
ok "no request was sent" requests 0

finish
