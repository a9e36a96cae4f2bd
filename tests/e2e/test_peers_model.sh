#!/usr/bin/env bash
# Tests hostile models from outside: for anything a server streams, the turn ends, at once and finally, no call of it
# runs, and the record stays small. ctest sets the meter of the loop, so a callback that takes too long aborts the
# program. $1 is the program.
set -u
tests=$(readlink -f "$(dirname "$0")")
. "$tests/outside.sh"
check_meter
. "$tests/serving.sh"

serve_hostile() { # kind
    stop_model
    rm -rf asked && mkdir -p asked config/keyturn
    python3 "$tests/hostile_model.py" asked "$1" >server.log 2>&1 &
    server=$!
    until [ -e asked/url ]; do
        kill -0 "$server" 2>/dev/null || { cat server.log; exit 1; }
        sleep 0.02
    done
    url=$(cat asked/url)
    cat >config/keyturn/config.json <<END
{"model": "a", "models": {
   "a": {"provider": "anthropic", "base_url": "$url", "model": "x"},
   "o": {"provider": "openai", "base_url": "$url/v1", "model": "x"}}}
END
}
asked_once() { [ "$(cat asked/asked)" -eq 1 ]; }
record_below() { [ "$(du -sk "$XDG_DATA_HOME" | cut -f1)" -lt "$1" ]; } # KB
export ANTHROPIC_API_KEY=k-0123456789 OPENAI_API_KEY=k-0123456789

refuses() { # kind why dialects
    local dialect
    for dialect in ${3:-a o}; do
        begin "$1 $dialect"
        serve_hostile "$1"
        kt run --headless --model $dialect --workspace ws "Go."
        ok "exit 1" is 1
        ok "the turn failed" out '"type":"model.failed"'
        ok "the error names the limit" out "$2"
        ok "no retry" out '"retry_in_ms":null'
        ok "one request" asked_once
        ok "no call ran" no_out '"type":"tool.started"'
        ok "no answer was recorded" no_out '"type":"model.responded"'
        ok "the record is small" record_below 1500
    done
}
refuses same-ids:100000 "more than 512 tool calls"
refuses ids:513 "more than 512 tool calls"
refuses text:0 "exceeds 2 MB"
refuses lumps:0 "exceeds 2 MB"
refuses thinking:0 "exceeds 2 MB"
refuses arguments:0 "exceeds 2 MB"
refuses fields:100000 "more than 20000 values"
refuses event:12 "longer than 4 MB"
refuses line:20 "longer than 4 MB"
refuses comments:0 "exceeds 64 MB" a
refuses nul:8 "exceeds 2 MB"
refuses blocks:50000 "more than 2048 blocks" a

takes() { # kind
    begin "$1"
    serve_hostile "$1"
    kt run --headless --workspace ws --budget tool_calls=1000 "Go."
    ok "exit 0" is 0
    ok "the answer was accepted" out '"type":"model.responded"'
    ok "the turn ended" out '"status":"done"'
}
takes same-ids:1
takes ids:512
takes unknown:512
takes text:1
takes arguments:1
takes fields:19000
takes deep:19000

begin "the limit of a stream"
serve_hostile text:1
sed -i 's/"model": "x"}/"model": "x", "answer_mb": 1}/' config/keyturn/config.json
kt run --headless --workspace ws "Go."
ok "exit 1" is 1
ok "it says which" out "the answer exceeds 1 MB"

begin "SIGINT during a flood"
serve_hostile comments:0
sed -i 's/"model": "x"}/"model": "x", "answer_mb": 4096}/' config/keyturn/config.json
# In the foreground: otherwise the signal reaches the program twice, once through its group, and the second one ends it
# at once.
timeout --foreground -s INT 1 "$program" run --headless --workspace ws "Go." >"$base/out" 2>"$base/err" </dev/null
ok "the turn was canceled" out '"status":"cancelled"'

finish
