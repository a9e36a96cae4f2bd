#!/usr/bin/env bash
# Tests the engine ssh against a real sshd on loopback, with keys and a configuration of its own. $1 is the program.
source "$(dirname "$0")/remote.sh"
need sshd openssh-server
need ssh openssh-client
sshd=$(PATH=$PATH:/usr/sbin command -v sshd)

ssh-keygen -q -t ed25519 -N '' -f "$base/host" && ssh-keygen -q -t ed25519 -N '' -f "$base/key" || cannot ssh-keygen "see above"
made_run=""
if [ "$(id -u)" -eq 0 ] && [ ! -d /run/sshd ]; then # sshd needs this folder
    mkdir /run/sshd && made_run=1
fi
start_sshd() {
    port=$((20000 + RANDOM % 20000))
    cat >"$base/sshd_config" <<TXT
Port $port
ListenAddress 127.0.0.1
HostKey $base/host
AuthorizedKeysFile $base/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AcceptEnv API_TOKEN
SetEnv PATH=$build:/usr/bin:/bin TMPDIR=$TMPDIR
TXT
    "$sshd" -D -e -f "$base/sshd_config" 2>"$base/sshd.log" &
    local pid=$!
    until_true 10 grep -q 'Server listening' "$base/sshd.log" && daemons+=("$pid")
}
start_sshd || start_sshd || cannot sshd "$(tail -n 1 "$base/sshd.log")"

# The client configuration of a user: the address of the machine, and the key.
cat >"$base/ssh_config" <<TXT
Host box
    HostName 127.0.0.1
    Port $port
    IdentityFile $base/key
    IdentitiesOnly yes
    UserKnownHostsFile $base/known_hosts
    StrictHostKeyChecking accept-new
    LogLevel ERROR
Host absent
    HostName 127.0.0.1
    Port 1
TXT
mkdir "$base/bin"
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$base/ssh_config" >"$base/bin/ssh"
chmod 755 "$base/bin/ssh"
export PATH=$base/bin:$PATH

try_remote ssh:box
kt exec --engine ssh:absent - <<<'emit_result(1)'
ok "an unreachable machine: exit 2" is 2
ok "with one line of error" one_error
ok "that names the cause" err "Connection refused"
kt exec --engine ssh:-oProxyCommand=x - <<<'emit_result(1)'
ok "a host name that looks like an option" is 2
[ -z "$made_run" ] || rmdir /run/sshd
finish
