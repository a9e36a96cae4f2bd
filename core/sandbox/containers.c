/* The other built-in engines: podman, docker, none, ssh, kubectl and srun, as a user would write them in engines.json
 * (engines.h explains the fields; bwrap.c has the default engine).
 *
 * podman and docker: the harness is the entry point of the image. podman must not add its own /tmp, /run and /var/tmp
 * in memory, which have no size limit. Ulimits are explicit, because raising them to the defaults needs a privilege
 * that root in a container may lack. crun rejects some mixtures of cgroup versions that runc accepts, hence `retry`.
 * Programs see the same folders as in bwrap.c. Our image contains no programs, so it gets this machine's /usr; other
 * images bring their own. docker passes no descriptors on, so the network port is handed over in a folder.
 *
 * The harness ends with its input (--end-with-input) wherever another process holds its output open: the monitor of a
 * container, a daemon, a job step. Otherwise a script would outlive a killed Keyturn.
 *
 * ssh and srun: keyturn-harness must be installed there. A shell creates the workspace and removes it. The shell stays
 * the parent, so it cleans up however the harness ends. When the connection closes, the harness reads the end of its
 * input. ssh, kubectl and srun run no programs, because the workspace is on this machine. */

#include "engines.h"

/* Turns its arguments into a string, so that quotes need no escapes. */
#define TEXT(...) #__VA_ARGS__

/* clang-format off */
const char sandbox_engines_other[] = TEXT({
  "podman": {
    "about": "a podman container, no network, read-only",
    "argv": ["podman", "run", "-i", "--rm", "--name", "{name}", "--pull=never", "--read-only", "--cap-drop=ALL",
             "--read-only-tmpfs=false", "--security-opt=no-new-privileges", "--security-opt=mask=/proc/pressure", "--network=none", "--user", "{uid}:{gid}",
             "--memory", "{memory_mb}m", "--memory-swap", "{memory_mb}m", "--pids-limit", "{pids}",
             "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=256:256", "--log-driver=none",
             "--tmpfs", "/workspace:rw,noexec,nosuid,nodev,size=16m", "{tools...}", "{secrets...}", "{image}",
             "--tools", "/tools", "--workspace", "/workspace", "--memory", "{memory_mb}", "--end-with-input", "{degraded...}"],
    "tools": ["--volume", "{tools}:/tools:ro"],
    "secret": ["--env", "{secret}"],
    "stop": ["podman", "kill", "{name}"],
    "program": {
      "argv": ["podman", "run", "-i", "--rm", "--name", "{name}", "--pull=never", "--read-only", "--cap-drop=ALL",
               "--read-only-tmpfs=false", "--security-opt=no-new-privileges", "--security-opt=mask=/proc/pressure", "--network=none", "{tty...}", "{user...}",
               "{cpu...}", "--memory", "{memory_mb}m", "--memory-swap", "{memory_mb}m", "--pids-limit", "{pids}",
               "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=256:256", "--log-driver=none", "--preserve-fds=2",
               "--tmpfs", "/tmp:rw,nosuid,nodev,size={tmp_bytes}", "--shm-size", "{shm_bytes}b", "{system...}", "{visible...}",
               "--volume", "{launcher}:/run/keyturn-launch:ro", "--volume", "{workspace}:/workspace", "{lent...}", "{variables...}",
               "--entrypoint", "/run/keyturn-launch", "{image}", "{filter...}", "{command...}"],
      "filter": ["--filter", "4"],
      "tty": ["-t"],
      "system": ["--volume", "/usr:/usr:ro"],
      "user": ["--userns=keep-id", "--user", "{user}"],
      "user_root": ["--user", "{uid}:{gid}"],
      "visible": ["--volume", "{path}:{path}:ro"],
      "lent": ["--volume", "{path}:/workspace/{place}:ro"],
      "cpu": ["--cpus", "{cpus}"],
      "variable": ["--env", "{variable}"],
      "stop": ["podman", "kill", "{name}"],
      "workspace": "/workspace",
      "control": true
    },
    "retry": {"on": "cgroups in hybrid mode", "with": ["--runtime=runc"]}
  },
  "docker": {
    "about": "a Docker container, no network, read-only",
    "argv": ["docker", "run", "-i", "--rm", "--name", "{name}", "--pull=never", "--read-only", "--cap-drop=ALL",
             "--security-opt=no-new-privileges", "--network=none", "--user", "{uid}:{gid}",
             "--memory", "{memory_mb}m", "--memory-swap", "{memory_mb}m", "--pids-limit", "{pids}",
             "--tmpfs", "/workspace:rw,noexec,nosuid,nodev,size=16m,uid={uid},gid={gid}", "{tools...}",
             "{secrets...}", "{image}", "--tools", "/tools", "--workspace", "/workspace", "--memory", "{memory_mb}", "--end-with-input", "{degraded...}"],
    "tools": ["--volume", "{tools}:/tools:ro"],
    "secret": ["--env", "{secret}"],
    "stop": ["docker", "kill", "{name}"],
    "program": {
      "argv": ["docker", "run", "-i", "--rm", "--name", "{name}", "--pull=never", "--read-only", "--cap-drop=ALL",
               "--security-opt=no-new-privileges", "--network=none", "{tty...}", "{user...}",
               "{cpu...}", "--memory", "{memory_mb}m", "--memory-swap", "{memory_mb}m", "--pids-limit", "{pids}",
               "--tmpfs", "/tmp:rw,nosuid,nodev,size={tmp_bytes}", "--shm-size", "{shm_bytes}b", "{system...}", "{visible...}",
               "--volume", "{launcher}:/run/keyturn-launch:ro", "--volume", "{workspace}:/workspace", "{lent...}", "{variables...}",
               "--env", "KEYTURN_FILTER", "--entrypoint", "/run/keyturn-launch", "{image}", "--close-proc", "{filter...}", "{command...}"],
      "filter": ["--filter-variable"],
      "tty": ["-t"],
      "system": ["--volume", "/usr:/usr:ro"],
      "user": ["--user", "{user}"],
      "user_root": ["--user", "{uid}:{gid}"],
      "visible": ["--volume", "{path}:{path}:ro"],
      "lent": ["--volume", "{path}:/workspace/{place}:ro"],
      "cpu": ["--cpus", "{cpus}"],
      "variable": ["--env", "{variable}"],
      "workspace": "/workspace",
      "ask": ["docker", "kill", "--signal", "TERM", "{name}"],
      "stop": ["docker", "kill", "{name}"]
    }
  },
  "none": {
    "about": "no sandbox around the harness: only the layers that it puts on itself",
    "unsafe": true,
    "argv": ["{harness}", "{tools...}", "--workspace", "{workspace}", "--memory", "{memory_mb}", "{degraded...}"],
    "tools": ["--tools", "{tools}"],
    "env": [],
    "program": {"argv": ["{launcher}", "{command...}"], "control": true, "cgroup": true}
  },
  "ssh": {
    "about": "another machine with keyturn-harness in its PATH (ssh:HOST)",
    "remote": true,
    "argv": ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "{secrets...}", "--", "{host}",
             "w=$(mktemp -d) && trap 'chmod -R u+rwX \"$w\"; rm -rf \"$w\"' EXIT && trap 'exit 1' HUP INT TERM && keyturn-harness --workspace \"$w\" --memory {memory_mb}",
             "--end-with-input", "{degraded...}", "{tools...}"],
    "tools": ["--tools", "{tools:quoted}"],
    "secret": ["-o", "SendEnv={secret}"]
  },
  "kubectl": {
    "about": "a pod of a Kubernetes cluster (kubectl:NAMESPACE)",
    "remote": true,
    "secret": false,
    "argv": ["kubectl", "run", "{name}", "{host...}", "-i", "--rm", "--quiet", "--restart=Never",
             "--image={image}", "--image-pull-policy=IfNotPresent", "--override-type=strategic",
             "--overrides={{\"spec\":{{\"automountServiceAccountToken\":false,\"enableServiceLinks\":false,\"hostname\":\"sandbox\",\"containers\":[{{\"name\":\"{name}\",\"resources\":{{\"limits\":{{\"memory\":\"{memory_mb}Mi\",\"cpu\":\"1\"}}}},\"securityContext\":{{\"allowPrivilegeEscalation\":false,\"readOnlyRootFilesystem\":true,\"runAsNonRoot\":true,\"runAsUser\":65534,\"capabilities\":{{\"drop\":[\"ALL\"]}},\"seccompProfile\":{{\"type\":\"RuntimeDefault\"}}}},\"volumeMounts\":[{{\"name\":\"workspace\",\"mountPath\":\"/workspace\"}}]}}],\"volumes\":[{{\"name\":\"workspace\",\"emptyDir\":{{\"medium\":\"Memory\",\"sizeLimit\":\"16Mi\"}}}}]}}}}",
             "--", "--workspace", "/workspace", "--memory", "{memory_mb}", "--end-with-input", "{degraded...}", "{tools...}"],
    "tools": ["--tools", "{tools}"],
    "host": ["--namespace={host}"],
    "stop": ["kubectl", "delete", "pod", "{name}", "{host...}", "--now", "--wait=false", "--ignore-not-found"],
    "env": ["KUBECONFIG", "HOME", "USER", "XDG_*", "AWS_*", "GOOGLE_*", "CLOUDSDK_*", "AZURE_*", "*_proxy", "*_PROXY"]
  },
  "srun": {
    "about": "a node of a Slurm cluster with keyturn-harness in its PATH (srun:PARTITION)",
    "remote": true,
    "argv": ["srun", "--quiet", "--ntasks=1", "--nodes=1", "{host...}", "--job-name={name}",
             "--mem={memory_mb}M", "--unbuffered", "--export=ALL", "sh", "-c",
             "w=$(mktemp -d) && trap 'chmod -R u+rwX \"$w\"; rm -rf \"$w\"' EXIT && trap 'exit 1' HUP INT TERM && keyturn-harness --workspace \"$w\" --memory {memory_mb} \"$@\"",
             "sh", "--end-with-input", "{degraded...}", "{tools...}"],
    "tools": ["--tools", "{tools}"],
    "host": ["--partition={host}"],
    "stop": ["scancel", "--quiet", "--name={name}"],
    "env": ["HOME", "USER", "LOGNAME", "SLURM_*", "SBATCH_*"]
  }
});
/* clang-format on */
