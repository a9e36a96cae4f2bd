#!/usr/bin/env bash
# Tests hostile MCP servers from outside: for anything a server sends, the call has an outcome and the turn ends. ctest
# sets the meter of the loop, so a callback that takes too long aborts the program. $1 is the program.
set -u
tests=$(readlink -f "$(dirname "$0")")
. "$tests/outside.sh"
check_meter

meets() { # kind outcome
    begin "$1"
    mkdir -p config/keyturn
    printf '{"mcpServers": {"h": {"command": "python3", "args": ["%s", "%s"], "trust": true}}, "mcp_wait_s": 3}\n' \
        "$tests/hostile_mcp.py" "$1" >config/keyturn/config.json
    { head_lines "Go." && answer 1 "I go." '{"id":"c1","name":"h__go","arguments":{"a":"x"}}' && answer 2 "Gone." ""; } >model.jsonl
    kt run --headless --approve allow --model scripted:model.jsonl --workspace ws "Go."
    ok "exit 0" is 0
    ok "it has an outcome" out "\"outcome\":\"$2\""
    ok "the turn ended" out '"status":"done"'
}
meets none result
meets text:7 artifact
meets lines:6 artifact
meets error:5 failure
meets values:50000 artifact
meets items:19000 artifact
meets line:20 failure
meets deep:100000 result
meets many:900 result
meets notes:19000 result
meets noise:900 result
meets stderr:20 result
meets progress:5000 result
meets form:9000 result
meets nested:30 result
meets tools:300 result
meets tools:20000 denied
meets schemas:60 denied

finish
