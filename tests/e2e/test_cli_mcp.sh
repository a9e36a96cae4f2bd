#!/usr/bin/env bash
# Tests MCP servers from the command line: the output of doctor, a turn without a terminal, and failures. MCP_SERVERS is
# the folder of the servers, $1 the program.
set -u
program=$(readlink -f "${1:?usage: $0 PROGRAM}")
servers=${MCP_SERVERS:?set MCP_SERVERS to the folder that tests/mcp/install.sh filled}/node_modules/@modelcontextprotocol
here=$(readlink -f "$(dirname "$0")")
base=$(mktemp -d "${TMPDIR:-/tmp}/keyturn-mcp-XXXXXX")
trap 'rm -rf "$base"' EXIT
cd "$base" || exit 1
export XDG_CONFIG_HOME=$base/config XDG_DATA_HOME=$base/data XDG_STATE_HOME=$base/state XDG_CACHE_HOME=$base/cache LC_ALL=C.UTF-8
export ASAN_OPTIONS=detect_leaks=0
passed=0 failed=0
has() { # what file text
    if grep -qF -- "$3" "$2"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        printf 'FAIL %s: no "%s" in\n' "$1" "$3"
        sed 's/^/  | /' "$2"
    fi
}
lacks() { if grep -qF -- "$3" "$2"; then failed=$((failed + 1)) && echo "FAIL $1: \"$3\" is in $2"; else passed=$((passed + 1)); fi; }
is() { if [ "$2" = "$3" ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAIL $1: $2 is not $3"; fi; }

mkdir -p ws config/keyturn
printf 'alpha\n' >ws/a.txt
cat >config/keyturn/config.json <<JSON
{
  // trusted, with a word of the user's against one of its hints
  "mcpServers": {"fs": {"command": "node", "args": ["$servers/server-filesystem/dist/index.js", "$base/ws"], "trust": true,
                        "effects": {"list_directory": "DESTRUCTIVE"}},
                 "gone": {"command": "no-such-program"},
                 "empty": {"args": ["x"]},
                 "leaky": {"command": "sh", "args": ["-c", "echo I got \$1 >&2; exit 3", "sh", "\${MY_ARGUMENT}"],
                           "env": {"NODE_ENV": "production"}}}
}
JSON
cat >theirs.json <<JSON
{"theme": "theirs", "mcpServers": {"memory": {"command": "node", "args": ["$servers/server-memory/dist/index.js"],
  "env": {"MEMORY_FILE_PATH": "$base/memory.jsonl", "TOKEN": "\${MY_TOKEN}"}, "alwaysAllow": ["read_graph"]}}}
JSON
export MY_TOKEN=tok-0123456789abcdef MY_ARGUMENT=arg-0123456789abcdef

"$program" doctor --mcp theirs.json >doctor.txt 2>&1
is "a server that fails is a failure" $? 1
has doctor doctor.txt 'fs: secure-filesystem-server'
has doctor doctor.txt 'protocol 2025-11-25, 14 tools'
has doctor doctor.txt 'fs__read_text_file            READ_ONLY, no approval needed'
has doctor doctor.txt 'fs__write_file                DESTRUCTIVE, idempotent, needs approval'
has doctor doctor.txt 'fs__list_directory            DESTRUCTIVE, needs approval (the server says READ_ONLY)'
has doctor doctor.txt 'empty: its entry (line 6) has no "command"'
has doctor doctor.txt 'leaky: it exited with status 3, last output: I got [secret MY_ARGUMENT]'
has doctor doctor.txt 'gone: cannot start no-such-program: it is not in PATH'
has doctor doctor.txt 'memory: memory-server'
has doctor doctor.txt '"alwaysAllow" has no effect'
has doctor doctor.txt 'memory__read_graph           NETWORK + DESTRUCTIVE, needs approval (the server says READ_ONLY)'
lacks doctor doctor.txt "$MY_TOKEN"
lacks doctor doctor.txt "$MY_ARGUMENT"

answer() { printf '{"type":"model.responded","step":%s,"text":"%s","tool_calls":[%s],"stop":"x"}\n' "$1" "$2" "$3"; }
{
    echo '{"type":"session.started","v":1}'
    answer 1 look '{"id":"c1","name":"fs__read_text_file","arguments":{"path":"a.txt"}}'
    answer 2 write '{"id":"c2","name":"fs__write_file","arguments":{"path":"a.txt","content":"gone\n"}}'
    answer 3 remember '{"id":"c3","name":"memory__read_graph","arguments":{}}'
    answer 4 'for production' ''
} >model.jsonl
"$program" run --headless --workspace ws --mcp theirs.json --model scripted:model.jsonl 'go on' >events.jsonl 2>errors.txt
is "exit status 4 without a terminal" $? 4
has headless events.jsonl '"result":{"output":{"text":"alpha\n"}}'
has headless events.jsonl '"decision":"denied","by":"policy"'
has headless events.jsonl '"name":"memory__read_graph"'
has headless errors.txt 'MCP server gone: failed'
is "nothing was written" "$(cat ws/a.txt)" alpha
lacks headless events.jsonl "$MY_TOKEN"
has headless events.jsonl 'for production' # an argument in the config file is not a secret
lacks headless errors.txt "$MY_ARGUMENT"

"$program" run --workspace ws --mcp theirs.json --approve allow --model scripted:model.jsonl 'go on' >account.txt 2>&1
is "every call was allowed" $? 0
has account account.txt '+gone'
is "it was written" "$(cat ws/a.txt)" gone
has log state/keyturn/log 'MCP server fs: stderr: Secure MCP Filesystem Server running on stdio'
lacks log state/keyturn/log "$MY_TOKEN"

echo '{"mcpServers": {}, "workspace": {"engine": "nowhere"}}' >other.json
"$program" doctor --config other.json >doctor.txt 2>&1
is "a sandbox that is asked for and not there" $? 1
has doctor doctor.txt 'unknown engine nowhere'
echo '{"mcpServers": {"off": {"command": "no-such-program", "disabled": true}}}' >other.json
"$program" doctor --config other.json >doctor.txt 2>&1
is "a disabled server does not fail" $? 0

# The user's rating of a tool overrides the server's, whether the server is trusted or not.
cat >effects.json <<JSON
{"mcpServers": {"f": {"command": "python3", "args": ["$(readlink -f "$here/../support/fake_mcp.py")"], "trust": true,
  "effects": {"echo": "DESTRUCTIVE", "write": "READ_ONLY"}},
  "all": {"command": "python3", "args": ["$(readlink -f "$here/../support/fake_mcp.py")"], "effects": {"*": "READ_ONLY"}}}}
JSON
{
    echo '{"type":"session.started","v":1}'
    answer 1 look '{"id":"e1","name":"f__echo","arguments":{"text":"x"}},{"id":"e2","name":"f__write","arguments":{}}'
    answer 2 look '{"id":"e3","name":"all__echo","arguments":{"text":"y"}},{"id":"e4","name":"all__write","arguments":{}}'
    answer 3 done ''
} >effects.jsonl
"$program" run --headless --workspace ws --mcp effects.json --approve deny --model scripted:effects.jsonl 'go on' >effects.out 2>errors.txt
is "the turn continued" $? 0
is "a tool rated as destructive needs approval" "$(grep -c '"type":"write.proposed".*"call":"e1"' effects.out)" 1
is "a tool rated as a read does not" "$(grep -c '"type":"write.proposed".*"call":"e2"' effects.out)" 0
has effects effects.out '"effect":"DESTRUCTIVE"'
is "the minimum for all tools is a read" "$(grep -c '"type":"write.proposed".*"call":"e3"' effects.out)" 0
is "and the server's own rating raises it" "$(grep -c '"type":"write.proposed".*"call":"e4"' effects.out)" 1

# A recording is repeated without its servers: the tools answer and write as recorded.
printf 'alpha\n' >ws/a.txt
"$program" replay --check --workspace ws events.jsonl >check.txt 2>&1
is "the recording of a denied write repeats" $? 0
cp -r ws before
"$program" run --headless --workspace ws --mcp theirs.json --approve allow --model scripted:model.jsonl 'go on' >events.jsonl 2>errors.txt
is "it was allowed" $? 0
"$program" replay --check --workspace before events.jsonl >check.txt 2>&1
is "the recording of an approved write repeats" $? 0
"$program" replay --check events.jsonl >check.txt 2>&1
is "without its files it diverges" $? 3

printf '{"mcpServers": {\n"a": {"command": "x", "args": "y"}}}' >wrong.json
"$program" run --mcp wrong.json --model scripted:model.jsonl x >wrong.txt 2>&1
is "a wrong file" $? 2
has wrong wrong.txt 'wrong.json:2: "mcpServers.a.args" must be a list of strings'
"$program" run --mcp nowhere.json --model scripted:model.jsonl x >wrong.txt 2>&1
is "a missing file" $? 2
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
