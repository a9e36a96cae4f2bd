#!/usr/bin/env bash
# Tests the network of a turn's programs from outside: the config file, real clients in the sandbox, the record and its
# replay. The hosts are services of this machine. $1 is the program.
set -u
. "$(dirname "$0")/outside.sh"

call() { printf '{"id":"%s","name":"%s","arguments":%s}' "$1" "$2" "$3"; }
config() { # network, as JSON
    mkdir -p "$XDG_CONFIG_HOME/keyturn"
    printf '{"workspace": {"network": %s}}' "$1" >"$XDG_CONFIG_HOME/keyturn/config.json"
}

served=$base/served
mkdir "$served" && echo "hello from here" >"$served/hello"
coproc SERVICES { exec /usr/bin/python3 "$source/tests/sandbox/attacks/services.py" "$served"; }
read -r http https echo <&"${SERVICES[0]}"
fetch='curl -sS -w "%{http_code}\\n" http://localhost:'$http'/hello'

begin "a listed host"
config '["localhost:'$http'", "127.0.0.1:'$https'"]'
{
    head_lines "Fetch." &&
        answer 1 "" "$(call c1 workspace_exec '{"command":"curl -sS http://localhost:'$http'/hello"}')" &&
        answer 2 "" "$(call c2 run_code '{"language":"python","code":"import urllib.request as u; print(u.urlopen(\"http://localhost:'$http'/hello\").read())"}')" &&
        answer 3 "" "$(call c3 workspace_exec '{"command":"curl -sS http://localhost:'$https'/ -o /dev/null -w \"%{http_code}\"; curl -sS http://example.org/"}')" &&
        answer 4 "" "$(call c4 workspace_exec '{"command":"curl -sS http://localhost:'$http'/hello; sleep 1000","background":true,"yield_time_ms":60000}')" &&
        answer 5 "Done." ""
} >m.jsonl
kt run --headless --approve allow --workspace ws --model m.jsonl --record r.jsonl x
ok "exit 0" is 0
ok "a command reaches it" out '"type":"tool.output","call":"c1","stream":"stdout","text":"hello from here\n"'
ok "the connection is recorded" out '"type":"network.connected","call":"c1","host":"localhost","port":'$http',"bytes":'
ok "before its bytes go out" out '"type":"network.connected","call":"c1","host":"localhost","port":'$http',"bytes":0}'
ok "before the call ends" test "$(grep -n '"network.connected","call":"c1"' "$base/out" | tail -n 1 | cut -d: -f1)" -lt "$(grep -n '"tool.finished","call":"c1"' "$base/out" | cut -d: -f1)"
ok "code reaches it" out '"type":"network.connected","call":"c2","host":"localhost"'
ok "a background program reaches it" out '"type":"network.connected","call":"c4","host":"localhost"'
ok "localhost matches its address" out '"type":"network.connected","call":"c3","host":"localhost","port":'$https
ok "another host is refused with the reason" out 'Keyturn: example.org:80 is not in \"workspace.network\"'
ok "its call is a NETWORK one" out 'runs alone (NETWORK)'
ok "no other connection" test "$(grep -c '"host":"example.org"' "$base/out")" -eq 0
kt run --approve allow --workspace ws --model m.jsonl x
ok "the plain text shows it" out "network   #1 localhost port $http "
kt replay --headless r.jsonl
ok "replay shows it" out '"type":"network.connected","call":"c1","host":"localhost"'
kt replay --check --workspace ws r.jsonl
ok "the check agrees" is 0

begin "killed while a connection is open"
config '["localhost:'$echo'"]'
cat >hold.py <<'PY'
import os, socket, sys, time
host, port = os.environ["HTTP_PROXY"].split("/")[2].split(":")
held = socket.create_connection((host, int(port)))
held.sendall(b"CONNECT localhost:%s HTTP/1.1\r\n\r\n" % sys.argv[1].encode())
print(held.recv(99).decode().split()[1] == "200" and "held" "-open", flush=True)
time.sleep(1000)
PY
{ head_lines "Hold." && answer 1 "" "$(call c1 workspace_exec '{"command":"echo '"$(base64 -w0 hold.py)"' | base64 -d >h.py; python3 h.py '$echo'"}')" && answer 2 "Done." ""; } >m.jsonl
"$program" run --headless --approve allow --workspace ws --model m.jsonl --record r.jsonl x >"$base/out" 2>"$base/err" </dev/null &
held=$!
for _ in $(seq 300); do
    grep -q 'held-open' "$base/out" && break
    sleep 0.1
done
kill -9 $held
wait $held 2>/dev/null
cp r.jsonl "$base/out"
ok "the host is in the record" out '"type":"network.connected","call":"c1","host":"localhost","port":'$echo',"bytes":0}'

begin "a skill"
config '["localhost:'$http'"]'
mkdir -p "$XDG_CONFIG_HOME/keyturn/skills/get"
printf -- '---\nname: get\ndescription: Fetches\n---\n' >"$XDG_CONFIG_HOME/keyturn/skills/get/SKILL.md"
{ head_lines "Fetch." && answer 1 "" "$(call c1 skill_run '{"skill":"get","command":"curl -sS http://localhost:'$http'/hello"}')" && answer 2 "Done." ""; } >m.jsonl
kt run --headless --approve allow --workspace ws --model m.jsonl x
ok "exit 0" is 0
ok "the skill reaches it" out "hello from here"
ok "the connection is recorded" out '"type":"network.connected","call":"c1","host":"localhost","port":'$http

begin "no network"
config false
{ head_lines "Fetch." && answer 1 "" "$(call c1 workspace_exec '{"command":"'"${fetch//\"/\\\"}"' 2>&1; env | grep -ic proxy"}')" && answer 2 "Done." ""; } >m.jsonl
kt run --headless --approve allow --workspace ws --model m.jsonl x
ok "exit 0" is 0
ok "no host is reached" no_out "hello from here"
ok "no host name resolves" out '000\n0\n'
ok "the call has no effect NETWORK" no_out 'runs alone (NETWORK)'

begin "every public host"
config true
{ head_lines "Fetch." && answer 1 "" "$(call c1 workspace_exec '{"command":"curl -sS --noproxy x http://127.0.0.1:'$http'/hello"}')" && answer 2 "Done." ""; } >m.jsonl
kt run --headless --approve allow --workspace ws --model m.jsonl x
ok "exit 0" is 0
ok "does not include this machine" no_out "hello from here"
ok "the refusal says so" out "127.0.0.1:$http is an address of this machine or its link (127.0.0.1), which is not in"
ok "no connection" no_out '"network.connected"'

begin "invalid lists"
config '["localhost:http"]'
script_reads >m.jsonl
kt run --workspace ws --model m.jsonl x
refused '"workspace.network"' '"localhost:http" has no port from 1 to 65535' 'config.json'
config '"yes"'
kt run --workspace ws --model m.jsonl x
refused '"workspace.network" must be true, false or a list'

exec {SERVICES[1]}>&-
wait "$SERVICES_PID" 2>/dev/null
finish
