#!/usr/bin/env bash
# Tests the engine podman with a stand-in that checks its arguments and runs the harness itself: the second runtime is
# tried, the arguments have names of secrets but no values, a container is killed by name. $1 is the program.
source "$(dirname "$0")/remote.sh"
mkdir "$base/bin" "$base/seen" "$base/tools"
cat >"$base/bin/podman" <<'TXT'
#!/usr/bin/env bash
# One line per call in seen/calls; the environment of the last run in seen/env.
printf '%s\n' "$*" >>"$SEEN/calls"
env >"$SEEN/env"
if [ "$1" = kill ]; then
    kill "$(cat "$SEEN/$2")"
    exit
fi
if [ "$1" != --runtime=runc ]; then
    echo 'Error: OCI runtime error: crun: cgroups in hybrid mode not supported, drop all controllers from cgroupv2' >&2
    exit 126
fi
while [ "$1" != localhost/keyturn-harness ]; do
    [ "$1" = --name ] && name=$2
    shift
done
shift
echo "Resource limits are not supported and ignored on cgroups V1 rootless systems" >&2
mkdir -p "$SEEN/ws"
# Not in our process group, like a container: only podman kill ends it.
setsid "$HARNESS" "$@" --tools "$SEEN" --workspace "$SEEN/ws" <&0 &
echo $! >"$SEEN/$name"
wait $!
TXT
chmod 755 "$base/bin/podman"
# The client gets only variables of certain names from our environment.
export DOCKER_STAND_IN=1
sed -i "2i SEEN=$base/seen HARNESS=$build/keyturn-harness" "$base/bin/podman"
export PATH=$base/bin:$PATH API_TOKEN=open-sesame AWS_SECRET_ACCESS_KEY=not-for-you
calls=$base/seen/calls

user=$(id -u _keyturn 2>/dev/null || sed -n 's/#define SANDBOX_UID *//p' "$(dirname "$0")/../../core/sandbox/user.h")
user=$user:$(id -g _keyturn 2>/dev/null || echo "$user")
kt exec --engine podman --secret API_TOKEN --tools "$base/tools" - <<<'import os; emit_result(len(os.environ["API_TOKEN"]))'
ok "a script" is 0
ok "with its secret" out '"data":11'
ok "first with the default runtime" test "$(sed -n 1p "$calls" | cut -d' ' -f1-3)" = "run -i --rm"
ok "then with the other runtime" test "$(sed -n 2p "$calls" | cut -d' ' -f1-4)" = "--runtime=runc run -i --rm"
for argument in --pull=never --read-only --cap-drop=ALL --security-opt=no-new-privileges --network=none \
    "--user $user" "--memory 512m" "--memory-swap 512m" "--pids-limit 32" "--ulimit nofile=1024:1024" \
    "--ulimit nproc=256:256" "--tmpfs /workspace:rw,noexec,nosuid,nodev,size=16m" "--env API_TOKEN" \
    "--volume $base/tools:/tools:ro"; do
    ok "$argument" grep -qF -- " $argument " "$calls"
done
ok "no value of a secret in the arguments" test -z "$(grep -F open-sesame "$calls")"
ok "no other variable of our environment" test -z "$(grep -F not-for-you "$base/seen/env")"
killed() { grep -q '^kill keyturn-' "$calls"; }
ok "killed by name" until_true 10 killed
no_box() { [ -z "$(pgrep -f "keyturn-harness.*--workspace $base")" ]; }
ok "and gone" until_true 10 no_box
kt engines --json podman </dev/null
ok "a limit that podman ignores is reported" out "Resource limits are not supported and ignored"
ok "and measured" out "IGNORES its limit on"
ok "so the verdict is weak" out '"verdict":"weak"'
ok "no container is left" until_true 10 no_box
finish
