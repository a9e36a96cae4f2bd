#!/usr/bin/env bash
# Tests turns with a real MCP server in a real terminal: writes that are shown, denied and approved, calls without a
# diff, a server that dies. MCP_SERVERS is the folder of the servers; $1 is the program, $2… are the cases to run
# (default: all).
set -u
. "$(dirname "$0")/terminal.sh"
. "$(dirname "$0")/serving.sh"
wait_s=${KEYTURN_TEST_WAIT:-60} # a server needs time to start
servers=${MCP_SERVERS:?set MCP_SERVERS to the folder that tests/mcp/install.sh filled}

# The filesystem server as "fs", trusted, in the usual form of an entry; and a server that does not exist.
configure() { # [more entries]
    printf '{"mcpServers": {"fs": {"command": "node", "args": ["%s", "%s"], "trust": true}%s}}\n' \
        "$servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js" "$home/ws" "${1:-}" >"$home/servers.json"
    mkdir -p "$home/config/keyturn"
    echo '{"question_grace_ms": 0}' >"$home/config/keyturn/config.json" # the test waits for each question here
    printf 'alpha\nbeta\ngamma\n' >"$home/ws/a.txt"
}
model() { # calls, one a step
    {
        echo '{"type":"session.started","v":1}'
        local step=1 call
        for call in "$@"; do answer $((step++)) "I go on." "$call"; done
        answer $step "That is all I had to do." ''
    } >"$home/model.jsonl"
}
run_turn() {
    start run --workspace ws --mcp servers.json --model scripted:model.jsonl --record rec.jsonl "$*" "'go on'"
}

edit='{"id":"c1","name":"fs__edit_file","arguments":{"path":"a.txt","edits":[{"oldText":"beta","newText":"BETA"}]}}'
write='{"id":"c2","name":"fs__write_file","arguments":{"path":"new.txt","content":"one\ntwo\n"}}'

case_deny_and_approve() {
    begin deny_and_approve 120x40
    configure
    model "$edit" "$write"
    run_turn
    sees 'waiting for approval'
    sees 'fs__edit_file'
    sees '+ BETA'
    keys n
    sees '+ two'
    check "the denied file does not exist" grep -qx beta "$home/ws/a.txt"
    keys y
    sees 'That is all I had to do.'
    file_has "$home/ws/new.txt" two
    check "denied by key" grep -q '"decision":"denied","by":"key"' "$home/rec.jsonl"
    check "approved by key" grep -q '"decision":"approved","by":"key"' "$home/rec.jsonl"
    check "its diff was recorded" grep -q '+BETA' "$home/rec.jsonl"
    escape
    keys q
    sees 'status=0'
}

case_call_without_a_diff() {
    begin call_without_a_diff 120x40
    configure
    model '{"id":"c1","name":"fs__create_directory","arguments":{"path":"sub/\u001b[31mred"}}' \
        '{"id":"c2","name":"fs__create_directory","arguments":{"path":"fine"}}' \
        '{"id":"c3","name":"fs__create_directory","arguments":{"path":"finer"}}'
    run_turn
    sees 'No diff: y runs the tool with these arguments.'
    sees '"path": "sub/\u001b[31mred"' # shown, not sent
    sees 'approves the call'
    sees 'A allow this tool'
    keys n
    sees '"fine"'
    keys A
    sees 'That is all I had to do.' # the third needed no approval
    check "the approved call ran" test -d "$home/ws/fine"
    check "the next call was allowed" test -d "$home/ws/finer"
    check "by the rule" grep -q '"decision":"approved","by":"policy"' "$home/rec.jsonl"
    check "the denied call did not run" test ! -e "$home/ws/sub"
    escape
    keys q
    sees 'status=0'
}

case_server_that_is_not_there() {
    begin server_that_is_not_there 120x40
    configure ', "gone": {"command": "no-such-program"}'
    model "$write"
    run_turn
    sees 'MCP server gone: failed'
    sees 'waiting for approval'
    keys y
    sees 'That is all I had to do.'
    escape
    keys q
    sees 'status=0'
}

# A server that never answers: the screen appears at once, and the user can start without it.
sluggish=', "slow": {"command": "sleep", "args": ["1000"]}'

case_waits_with_a_screen() {
    begin waits_with_a_screen 80x24
    configure "$sluggish"
    model "$write"
    run_turn
    sees 'Starting 2 MCP servers…'
    sees 'starting…'
    sees 'ready, 14 tools'
    keys q
    sees 'status=130'
    check "no recording was started" test ! -e "$home/rec.jsonl"
    typed clear
    keys Enter
    sees '!status='
    run_turn
    sees 'ready, 14 tools'
    keys C-c
    sees 'status=130'
    run_turn
    sees 'ready, 14 tools'
    keys Enter
    sees 'waiting for approval'
    keys y
    sees 'That is all I had to do.'
    escape
    keys q
    sees 'status=0'
}

# From the start screen the user returns to the wait, and the typed prompt is still there.
case_waits_from_the_start() {
    begin waits_from_the_start 120x40
    configure "$sluggish"
    model "$write"
    printf '{"question_grace_ms": 0, "model": "scripted:%s", "mcpServers": {"slow": {"command": "sleep", "args": ["1000"]}}}\n' \
        "$home/model.jsonl" >"$home/config/keyturn/config.json"
    start ''
    sees 'What should the agent do here?'
    typed 'make it so'
    keys Enter
    sees 'Starting 1 MCP server…'
    keys q
    sees 'What should the agent do here?'
    sees 'make it so'
    keys Enter
    sees 'Starting 1 MCP server…'
    keys C-c
    sees 'make it so'
    keys C-c
    sees 'status=0'
}

# A server that becomes ready during the session: its tools are available from the next turn on, and the recording has
# the change.
case_comes_later() {
    begin comes_later 120x40
    configure
    printf '{"mcpServers": {"fs": {"command": "sh", "args": ["-c", "until [ -e ../go ]; do sleep 0.05; done; exec node %s ."], "trust": true}}}\n' \
        "$servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js" >"$home/servers.json"
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "Nothing to do yet." ''
        turn=2 answer 1 "I go on." "$write"
        turn=2 answer 2 "That is all I had to do." ''
    } >"$home/model.jsonl"
    run_turn
    sees 'Starting 1 MCP server…'
    keys Enter
    sees 'Nothing to do yet.'
    touch "$home/go"
    sees 'ready, 14 tools; the next turn has the new tools'
    typed 'now write'
    keys Enter
    sees 'waiting for approval'
    sees '+ two'
    keys y
    sees 'That is all I had to do.'
    file_has "$home/ws/new.txt" two
    check "the recording has its tools from then on" grep -q '"type":"tools.changed".*"added":\["fs__' "$home/rec.jsonl"
    escape
    keys q
    sees 'status=0'
    typed clear
    keys Enter
    sees '!status='
    start replay --check rec.jsonl
    sees 'status=0'
}

fake() { # fault…: our fake server, as "f"
    local faults
    faults=$(printf ', "%s"' "$@")
    printf '{"mcpServers": {"f": {"command": "python3", "args": ["%s"%s], "trust": true}}}\n' \
        "$(readlink -f "$(dirname "$0")/../support/fake_mcp.py")" "$faults" >"$home/servers.json"
}

# A server that changes its tools in the middle of a turn: the next turn has them, and can call them.
case_tools_change() {
    begin tools_change 120x40
    configure
    fake changes
    {
        echo '{"type":"session.started","v":1}'
        answer 1 "I write." '{"id":"c1","name":"f__write","arguments":{}}'
        answer 2 "That is it for now." ''
        turn=2 answer 1 "I try the new one." '{"id":"c2","name":"f__new","arguments":{}}'
        turn=2 answer 2 "That is all I had to do." ''
    } >"$home/model.jsonl"
    run_turn
    sees 'No diff: y runs the tool with these arguments.'
    keys y
    sees 'That is it for now.'
    sees 'the next turn has the new'
    keys i
    typed 'now the new one'
    keys Enter
    sees 'That is all I had to do.'
    check "the recording has the new tools" grep -q '"type":"tools.changed".*"added":\["f__new"\]' "$home/rec.jsonl"
    check "and the removed ones" grep -q '"type":"tools.changed".*"removed":\["f__plain"\]' "$home/rec.jsonl"
    check "the new tool answered" grep -q '"call":"c2".*did new' "$home/rec.jsonl"
    escape
    keys q
    sees 'status=0'
}

# A call names a file that only the server changes: the question shows the state of the file.
case_names_a_file() {
    begin names_a_file 80x24
    configure
    fake files
    model '{"id":"c1","name":"f__delete_lines","arguments":{"target":"a.txt","first":1}}' \
        '{"id":"c2","name":"f__deleteFile","arguments":{"target":"a.txt"}}'
    run_turn
    sees 'No diff: y runs the tool with these arguments.'
    sees 'a.txt has 17 bytes now'
    sees '"target": "a.txt"'
    keys y
    sees '- gamma'
    keys y
    sees 'That is all I had to do.'
    check "the file is deleted" test ! -e "$home/ws/a.txt"
    escape
    keys q
    sees 'status=0'
}

# The same with a model over HTTP, on the loopback: the request offers the server's tools.
case_live_model() {
    begin live_model 120x40 MY_KEY=sk-live-0123456789
    configure
    serve_model "$home" 'CALL:fs__write_file:{"path": "a.txt", "content": "nothing is left\n"}' TEXT
    printf '{"question_grace_ms": 0, "model": "m", "models": {"m": {"provider": "openai", "base_url": "%s/v1", "model": "gpt-x", "key_env": "MY_KEY"}}}\n' \
        "$url" >"$home/config/keyturn/config.json"
    start run --workspace ws --mcp servers.json --record rec.jsonl "'go on'"
    sees 'waiting for approval'
    sees '+ nothing is left'
    sees '- beta'
    keys n
    sees 'All seen.'
    check "denied by key" grep -q '"decision":"denied","by":"key"' "$home/rec.jsonl"
    check "no file was written" grep -qx beta "$home/ws/a.txt"
    check "the model was offered the tools" grep -q '"name":"fs__write_file"' "$home/asked/1.request"
    check "the model got the denial" grep -q 'the user denied the write' "$home/asked/2.request"
    stop_model
}

# However the program ends, no process of a server is left, even of another process session.
case_servers_end_with_the_program() {
    begin servers_end_with_the_program 120x40
    configure
    printf '{"mcpServers": {"fs": {"command": "sh", "args": ["-c", "sleep 1000 & echo $! >../near; setsid sh -c '"'"'echo $$ >../far; sleep 1000; :'"'"' & exec node %s ."], "trust": true}}}\n' \
        "$servers/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js" >"$home/servers.json"
    model "$write"
    run_turn
    sees 'waiting for approval'
    local keyturn far near left end
    keyturn=$(pgrep -P "$(mux display-message -p -t $pane '#{pane_pid}')" keyturn)
    far=$(cat "$home/far") near=$(cat "$home/near")
    left="$near $far $(pgrep -d ' ' -P "$far") $(ps -o ppid= -p "$near")"
    for pid in $left; do check "$pid runs" kill -0 "$pid"; done
    kill -KILL "$keyturn"
    sees 'status=137'
    end=$((SECONDS + wait_s))
    while kill -0 $left 2>/dev/null && [ $SECONDS -lt $end ]; do sleep 0.05; done
    for pid in $left; do check "$pid is gone" test ! -e "/proc/$pid"; done
}

run_cases deny_and_approve call_without_a_diff server_that_is_not_there waits_with_a_screen waits_from_the_start comes_later tools_change names_a_file live_model servers_end_with_the_program
