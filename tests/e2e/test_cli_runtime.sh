#!/usr/bin/env bash
# Tests programs of a turn from outside: a whole session with its workspace, its replay, the leftovers after an end and
# after a kill, and the config file. $1 is the program.
set -u
. "$(dirname "$0")/outside.sh"

call() { printf '{"id":"%s","name":"%s","arguments":%s}' "$1" "$2" "$3"; }
places() { find "$XDG_CACHE_HOME/keyturn/workspaces" -mindepth 1 2>/dev/null; }
nothing_left() { [ -z "$(places)" ]; }
await() { # command…: until it succeeds
    local i
    for i in $(seq 3000); do
        "$@" && return 0
        sleep 0.02
    done
    return 1
}
own=$$ # another run of this test uses other times
sleeps() { pgrep -f "sleep $1\$" >/dev/null; }
gone() { ! sleeps "$1"; }

script_place() {
    head_lines "Count." &&
        answer 1 "" "$(call c1 stage_input '{"from":"a.txt"}')" &&
        answer 2 "" "$(call c2 workspace_exec '{"command":"wc -l < work/inputs/a.txt > out/lines; echo counted"}')" &&
        answer 3 "" "$(call c3 workspace_exec '{"command":"echo up; read a; echo got $a; exec sleep 1'$own'","background":true,"yield_time_ms":60000}')" &&
        answer 4 "" "$(call c4 workspace_write_stdin '{"session_id":"p2","chars":"me","submit":true,"yield_time_ms":60000}')" &&
        answer 5 "" "$(call c5 bring_back '{"from":"out/lines","to":"lines.txt"}')" &&
        answer 6 "Done." ""
}

begin "a session with programs"
script_place >m.jsonl
kt run --headless --approve allow --workspace ws --model m.jsonl --record r.jsonl x
ok "exit 0" is 0
ok "copied to the project" grep -qx 3 ws/lines.txt
ok "no folder left" nothing_left
ok "no program left" await gone 1$own
ok "output" out '"type":"tool.output","call":"c2","stream":"stdout","text":"counted\n"'
ok "input" out '"type":"program.input","program":"p2","text":"me\n","by":"call"'
ok "printed" out '"type":"program.output","program":"p2"'
ok "ended with the session" out '"why":"killed: the session ended"'
ok "cleaned up" out '"op":"workspace.cleanup"'
ok "last" test "$(tail -1 "$base/out" | grep -c session.ended)" -eq 1

begin "replay executes nothing"
cp ../a_session_with_programs/r.jsonl . && cp -r ../a_session_with_programs/ws/. ws/
kt replay --headless r.jsonl
ok "exit 0" is 0
ok "prints events of programs" out '"type":"program.started"'
ok "prints events of the workspace" out '"type":"workspace.state"'
ok "creates no workspace" test ! -e "$XDG_CACHE_HOME/keyturn/workspaces"
kt replay r.jsonl
ok "as plain text" is 0
ok "with its calls" out "workspace_exec"
rm ws/lines.txt
kt replay --check --workspace ws r.jsonl
ok "agrees" is 0
ok "without a workspace" test ! -e "$XDG_CACHE_HOME/keyturn/workspaces"
kt replay --execute --headless --workspace ws r.jsonl
ok "--execute agrees" is 0
ok "and leaves no folder" nothing_left

begin "replay of a binary file"
{
    head_lines "Make." &&
        answer 1 "" "$(call c1 workspace_exec '{"command":"mkdir out/d; : > out/d/empty; printf \"\\\\000\\\\001\" > out/bits"}')" &&
        answer 2 "" "$(call c2 bring_back '{"from":"out/d/empty","to":"empty"}'),$(call c3 bring_back '{"from":"out/bits","to":"bits"}')" &&
        answer 3 "Done." ""
} >m.jsonl
cp -r ws before
kt run --headless --approve allow --workspace ws --model m.jsonl --record r.jsonl x
ok "exit 0" is 0
ok "both copied" test -e ws/empty -a -s ws/bits
kt replay --check --workspace before r.jsonl
ok "agrees" is 0
ok "names the write that it cannot repeat" err "cannot repeat the write of c3"
ok "and the cause" err "): bits is binary, and the recording does not have its bytes"
ok "and no other write" test "$(grep -c 'cannot repeat' "$base/err")" -eq 1

begin "a cap of tool calls binds programs and scripts"
{
    head_lines "Wait." &&
        answer 1 "" "$(call c1 workspace_exec '{"command":"exec sleep 7'$own'"}'),$(call c2 run_script '{"script":"import time; time.sleep(60)"}')" &&
        answer 2 "Done." ""
} >m.jsonl
kt run --headless --approve allow --workspace ws --model m.jsonl --budget tool_cap_s=5 --budget wall_s=60 x
ok "exit 0" is 0
ok "both have the cap" test "$(grep -c '"deadline_ms":5000' "$base/out")" = 2
ok "the program was killed" await gone 7$own
ok "both ended within it" test "$(grep tool.finished "$base/out" | grep -cE '"elapsed_ms":(4|5)[0-9]{3}')" = 2
{ head_lines "Wait." && answer 1 "" "$(call c1 workspace_exec '{"command":"true"}')" && answer 2 "Done." ""; } >m.jsonl
kt run --headless --approve allow --workspace ws --model m.jsonl --budget wall_s=20 x
ok "by default a program leaves a part of the turn" out '"deadline_ms":14'

begin "without a user"
script_place >m.jsonl
kt run --workspace ws --model m.jsonl x
ok "exit 4" is 4
ok "no file written" test ! -e ws/lines.txt
ok "no folder left" nothing_left

begin "no unused workspace"
script_reads >m.jsonl
kt run --workspace ws --model m.jsonl x
ok "exit 0" is 0
ok "no folder" test ! -e "$XDG_CACHE_HOME/keyturn/workspaces"

begin "interrupted"
{ head_lines x && answer 1 "" "$(call c1 workspace_exec '{"command":"echo $$; exec sleep 2'$own'"}')" && answer 2 "Done." ""; } >m.jsonl
"$program" run --headless --workspace ws --model m.jsonl x >"$base/out" 2>"$base/err" </dev/null &
pid=$!
ok "it runs" await sleeps 2$own
kill -INT $pid
wait $pid
status=$?
ok "exit 130" is 130
ok "killed" await gone 2$own
ok "no folder left" nothing_left
ok "the record says why" out '"error":"canceled by the user"'

begin "killed"
{ head_lines x && answer 1 "" "$(call c1 workspace_exec '{"command":"exec sleep 3'$own'","background":true}')" &&
    answer 2 "" "$(call c2 workspace_exec '{"command":"exec sleep 4'$own'"}')" && answer 3 "Done." ""; } >m.jsonl
"$program" run --headless --workspace ws --model m.jsonl x >"$base/out" 2>"$base/err" </dev/null &
pid=$!
ok "it runs" await sleeps 4$own
kill -KILL $pid
wait $pid 2>/dev/null
ok "programs end with it" await gone 3$own
ok "commands too" await gone 4$own
ok "its folder is left behind" test -n "$(places)"
{ head_lines x && answer 1 "" "$(call c1 workspace_exec '{"command":"true"}')" && answer 2 "Done." ""; } >m.jsonl
kt run --workspace ws --model m.jsonl x
ok "the next one runs" is 0
ok "and removes it" nothing_left

begin "workspace of the config file"
mkdir -p config/keyturn other skills/greet
echo shared >other/o.txt
printf -- '---\nname: greet\ndescription: Says hello\n---\n' >skills/greet/SKILL.md
printf '{"workspace": {"persist": true, "inputs": ["%s/other"], "deny": ["rm"]}, "skills": ["~/skills"]}' "$home" >config/keyturn/config.json
{ head_lines x && answer 1 "" "$(call c1 stage_input '{"from":"host://'"$home"'/other/o.txt"}')" &&
    answer 2 "" "$(call c2 stage_input '{"from":"host:///etc/hostname"}')" &&
    answer 3 "" "$(call c3 workspace_exec '{"command":"rm -r work"}')" &&
    answer 4 "" "$(call c4 skill_list '{}')" && answer 5 "Done." ""; } >m.jsonl
kt run --headless --workspace ws --model m.jsonl x
ok "exit 0" is 0
ok "a listed input folder" out '"call":"c1","tool":"stage_input","outcome":"result"'
ok "an unlisted folder is refused" out '"call":"c2","tool":"stage_input","outcome":"failure"'
ok "a denied command is refused" out '"call":"c3","tool":"workspace_exec","outcome":"failure"'
ok "a skill" out '"description":"Says hello"'
ok "the persistent workspace stays" grep -qx shared data/keyturn/workspaces/ws_*/work/inputs/o.txt
printf '{\n"workspace": {"engine": "bwarp"}}' >config/keyturn/config.json
kt run --workspace ws --model m.jsonl x
refused "config.json:2:" "unknown engine bwarp"
printf '{\n"workspace": {"engine": "ssh:build.example"}}' >config/keyturn/config.json
kt run --workspace ws --model m.jsonl x
refused "config.json:2:" "the engine ssh cannot run programs: the workspace is not on its machine"
kt doctor
ok "doctor reports the engine too" out '"workspace.engine": the engine ssh cannot run programs'

# Programs get the variables of the config file and none of ours; values from our environment are not recorded.
begin "variables"
mkdir -p config/keyturn
printf '{"workspace": {"env": {"MODE": "fast", "API": "${MY_TOKEN}"}}, "secrets": ["OTHER_KEY"]}' >config/keyturn/config.json
{ head_lines x && answer 1 "" "$(call c1 workspace_exec '{"command":"echo $MODE $API [$OTHER_KEY] ${#API} > out/o; cat out/o"}')" &&
    answer 2 "" "$(call c2 bring_back '{"from":"out/o","to":"o"}')" && answer 3 "Done." ""; } >m.jsonl
MY_TOKEN=tok-$own-12345678 OTHER_KEY=key-87654321 kt run --headless --approve allow --workspace ws --model m.jsonl x
ok "exit 0" is 0
ok "given" grep -qxF "fast tok-$own-12345678 [] $((13 + ${#own}))" ws/o
ok "not recorded" no_out "tok-$own-12345678"
ok "shown as [secret MY_TOKEN]" out '[secret MY_TOKEN]'
kt run --headless --approve allow --workspace ws --model m.jsonl x
ok "a variable that is not set" out '$MY_TOKEN is not set, and'
printf '{"workspace": {"env": {\n"API": "${MY_TOKEN}",\n"B": "${OTHER_ONE}"}}}' >config/keyturn/config.json
kt doctor
ok "doctor: exit 1" is 1
ok "doctor names the variable" grep -q '^FAIL *config .*config.json:2: "workspace.env": "API" needs the variable MY_TOKEN, which is not set' "$base/out"
ok "and the next one" out 'config.json:3: "workspace.env": "B" needs the variable OTHER_ONE'
printf '{"workspace": {"env": {\n"API": "a${}"}}}' >config/keyturn/config.json
kt run --workspace ws --model m.jsonl x
refused "config.json:2:" '"workspace.env.API" has a ${} without the name of a variable'

# Without a sandbox, nothing runs that the user has not allowed.
begin "engine none"
mkdir -p config/keyturn
printf '{"workspace": {"engine": "none"}}' >config/keyturn/config.json
{ head_lines x && answer 1 "" "$(call c1 workspace_exec '{"command":"touch '"$home"'/c1"}')" &&
    answer 2 "" "$(call c2 run_code '{"code":"open(\"'"$home"'/c2\",\"w\")"}')" && answer 3 "Done." ""; } >m.jsonl
none_ran() { [ ! -e c1 ] && [ ! -e c2 ]; }
kt run --headless --approve deny --workspace ws --model m.jsonl x
ok "exit 0" is 0
ok "refused" out '"call":"c1","tool":"workspace_exec","outcome":"denied"'
ok "one warning" test "$(grep -c 'the engine none is UNSAFE: programs run with your rights' "$base/err")" -eq 1
ok "nothing ran" none_ran
kt run --headless --workspace ws --model m.jsonl x
ok "headless: exit 4" is 4
ok "no program ran without approval" none_ran
kt run --workspace ws --model m.jsonl x
ok "plain text: exit 4" is 4
ok "no program ran with plain text" none_ran
kt run --headless --approve allow --workspace ws --model m.jsonl --record r.jsonl x
ok "allowed: exit 0" is 0
ok "both ran" test -e c1 -a -e c2
ok "the decision comes first" out '"decision":"approved","by":"policy"'
kt replay --check --workspace ws r.jsonl
ok "the recording agrees" is 0

# The output of doctor about programs that it has tested.
begin "doctor runs a program"
mkdir -p config/keyturn bin
doctor_with() { # engine
    printf '{"workspace": {"engine": "%s"}}' "$1" >config/keyturn/config.json
    kt doctor
}
kt doctor
ok "a working engine: exit 0" is 0
ok "in bwrap" grep -Eq '^(ok|warn) *programs *bwrap: .*memory_mb' "$base/out"
ok "no folder left" nothing_left
doctor_with none
ok "engine none is no failure" is 0
ok "but a warning" grep -q '^warn *programs *none: UNSAFE: programs run with your rights' "$base/out"
printf '#!/bin/sh\necho "docker: Cannot connect to the Docker daemon at unix:///x." >&2\nexit 125\n' >bin/docker
cat >bin/podman <<'TXT'
#!/usr/bin/env bash
echo "Resource limits are not supported and ignored on cgroups V1 rootless systems" >&2
while [ $# -gt 0 ] && [ "$1" != localhost/keyturn-harness ]; do
    case $1 in *:/run/keyturn-launch:ro) launcher=${1%%:*} ;; esac
    shift
done
shift
exec "$launcher" "${@/#\/workspace/$PWD}"
TXT
chmod 755 bin/docker bin/podman
PATH=$home/bin:$PATH doctor_with docker
ok "a failing engine is a failure" is 1
ok "with the engine's message" grep -q '^FAIL *programs *docker: programs cannot run: .*Cannot connect to the Docker daemon' "$base/out"
ok "no folder left after it" nothing_left
PATH=$home/bin:$PATH doctor_with podman
ok "an engine that prints a warning works" is 0
ok "but its limits are not trusted" grep -q '^warn *programs *podman: no control group\. .*above memory_mb.*last line: Resource limits are not' "$base/out"
printf '#!/bin/sh\necho "Error: localhost/keyturn-harness: image not known" >&2\nexit 125\n' >bin/podman
PATH=$home/bin:$PATH doctor_with podman
ok "no image" grep -q '^FAIL *programs *podman: .*image localhost/keyturn-harness does not exist' "$base/out"

begin "invalid command names"
mkdir -p config/keyturn
printf '{"workspace": {"allow": ["make",\n"bash",\n"ls -la"], "deny": [\n"rm -rf"]}}' >config/keyturn/config.json
kt doctor
ok "a warning" is 0
ok "a shell" grep -q '^warn *config .*config.json:2: "workspace.allow": "bash" can start other commands' "$base/out"
ok "arguments" out 'config.json:3: "workspace.allow": "ls -la" is not a command name'
ok "denied ones" out 'config.json:4: "workspace.deny": "rm -rf" is not a command name'
ok "and no other" no_out '"make"'

# A project from an unknown author: its skills are files inside it, or they are ignored.
begin "skills behind links"
mkdir -p ws/.keyturn/skills other config/keyturn/skills
printf -- '---\nname: priv\ndescription: Of another project\n---\n' >other/SKILL.md
echo TOKEN=secret-$own >other/.env
ln -s ../../../other ws/.keyturn/skills/x
{ head_lines x && answer 1 "" "$(call c1 skill_list '{}')" &&
    answer 2 "" "$(call c2 skill_load '{"name":"priv","file":".env"}')" &&
    answer 3 "" "$(call c3 skill_run '{"skill":"priv","command":"cat .env"}')" && answer 4 "Done." ""; } >m.jsonl
kt run --headless --workspace ws --model m.jsonl x
ok "their files are not read" no_out "Of another project"
ok "and not staged" no_out "secret-$own"
ok "but a warning names the link" out 'it is a link that leads outside the project'
(cd ws && "$program" doctor >"$base/out")
ok "doctor warns too" grep -q '^warn *skills .*ws/.keyturn/skills/x is ignored: it is a link that leads outside the project' "$base/out"
rm ws/.keyturn/skills/x
ln -s ../../../other config/keyturn/skills/x
kt run --headless --workspace ws --model m.jsonl x
ok "the user's own link is followed" out "Of another project"

finish
