#!/usr/bin/env bash
# Tests the engine srun on a cluster of one node: munge, slurmctld and slurmd on loopback with a configuration of their
# own. $1 is the program.
source "$(dirname "$0")/remote.sh"
for program_and_package in munged:munge slurmctld:slurm-wlm slurmd:slurm-wlm srun:slurm-wlm scancel:slurm-wlm; do
    need "${program_and_package%:*}" "${program_and_package#*:}"
done
[ "$(id -u)" -eq 0 ] || cannot slurmd "it starts jobs for others, so it must be started by root"
PATH=$build:$PATH:/usr/sbin

mkdir -m 755 "$base/munge" "$base/ctld" "$base/slurmd"
head -c 1024 /dev/urandom >"$base/munge.key"
chmod 400 "$base/munge.key"
munged --force --foreground --key-file="$base/munge.key" --socket="$base/munge/socket" --pid-file="$base/munge/pid" \
    --log-file="$base/munge/log" --seed-file="$base/munge/seed" >"$base/munged.out" 2>&1 &
daemons+=($!)
until_true 10 test -S "$base/munge/socket" || cannot munged "$(tail -n 1 "$base/munged.out" "$base/munge/log" 2>/dev/null | tail -n 1)"

node=$(hostname -s)
port=$((20000 + RANDOM % 20000))
cat >"$base/slurm.conf" <<TXT
ClusterName=keyturn
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$base/munge/socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$base/ctld
SlurmdSpoolDir=$base/slurmd
SlurmctldPidFile=$base/ctld.pid
SlurmdPidFile=$base/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=$base/prolog
SelectType=select/linear
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=test Nodes=$node Default=YES MaxTime=INFINITE OverSubscribe=FORCE:4 State=UP
TXT
printf '#!/bin/sh\necho export TMPDIR=%s\n' "$TMPDIR" >"$base/prolog" # the folder of workspaces
chmod 755 "$base/prolog"
export SLURM_CONF=$base/slurm.conf
slurmctld -D >"$base/ctld.log" 2>&1 &
daemons+=($!)
slurmd -D >"$base/slurmd.log" 2>&1 &
daemons+=($!)
node_is_idle() { sinfo -h -o %t | grep -q '^idle$'; }
until_true 30 node_is_idle || cannot slurmd "$(grep -h 'error\|fatal' "$base/slurmd.log" "$base/ctld.log" | tail -n 1)"

try_remote srun:test killed
kt exec --engine srun:nowhere - <<<'emit_result(1)'
ok "an unknown partition: exit 2" is 2
ok "with one line of error" one_error
ok "that names the cause" err "partition"
no_job() { [ -z "$(squeue -h)" ]; }
ok "no job is left" until_true 30 no_job
finish
