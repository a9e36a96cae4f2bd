/* The engines that are always there, as a user would write them in engines.json.
 *
 * bwrap: everything unshared, nothing of the host but /usr, read-only; the harness is bound in alone and is process 1.
 * Root starts it as the sandbox's user (user.h), so nobody inside is root outside. /proc is read-only and keys are not
 * listed: what is not the sandbox's own cannot even be opened to write. The workspace is a file system in memory,
 * since a folder of the host could be filled until its disk is full. Its environment is the one we give it, so there is
 * no --clearenv.
 *
 * podman and docker: the image holds the harness as its entry point. podman would add a /tmp, /run and /var/tmp in
 * memory that have no size. Ulimits are said because the defaults need a privilege that root in a small machine may
 * lack; crun refuses some mixtures of cgroup versions that runc takes.
 *
 * Where somebody stays between us and the harness and keeps its output open (a container's monitor, a daemon, a job's
 * step), it ends with its input: else a script would outlive a workbench that was killed. So it does in bwrap, which is
 * killed by no signal of ours: a child that it has just made would wait for it for ever.
 *
 * Programs get more than scripts: a writable /tmp and /dev/shm (256 MB and 64 MB, but each at most half of their
 * memory, which files there are counted with), what is in /usr, and as much memory as they say. Our image has no
 * programs, so this machine's /usr is lent to it; another image brings its own. Inside, the workspace is /workspace in
 * all of them, for a path of this machine tells who its user is. ssh, kubectl and srun cannot run programs: the
 * workspace is here and they are not.
 *
 * bwrap copies /etc/hosts, passwd, group and nsswitch.conf from descriptors (engines_etc.c): servers listen on
 * "localhost", and some tools want a user with a name. Containers have such files.
 *
 * None of them has a network, whatever is allowed: the way out is a port that keyturn-launch opens inside and that ends
 * in our forwarder (forwarder.h). It is handed over on the control line, or for docker, which passes none on, in a
 * folder.
 *
 * ssh and srun: the harness must be installed there. A shell makes a workspace and removes it; it stays as the parent,
 * so this happens however the harness ends. The connection's end is the harness's end of stdin. */

#include "engines.h"

/* Made a string by the preprocessor: no quoting of quotes. */
#define TEXT(...) #__VA_ARGS__

/* clang-format off */
const char sandbox_engines_builtin[] = TEXT({
  "bwrap": {
    "about": "bubblewrap: namespaces on this machine, no network, nothing to set up",
    "argv": ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534",
             "--hostname", "sandbox", "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1",
             "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
             "--symlink", "usr/bin", "/bin", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
             "--proc", "/proc", "--ro-bind-try", "/dev/null", "/proc/keys", "--ro-bind-try", "/dev/null", "/proc/key-users",
             "--remount-ro", "/proc", "--dev", "/dev", "--size", "16777216", "--tmpfs", "/tmp",
             "--dir", "/run", "--ro-bind", "{harness}", "/run/keyturn-harness",
             "--dir", "/tools", "{tools...}", "--size", "16777216", "--tmpfs", "/workspace", "--chdir", "/workspace",
             "--remount-ro", "/dev", "--remount-ro", "/",
             "/run/keyturn-harness", "--tools", "/tools", "--workspace", "/workspace", "--memory", "{memory_mb}",
             "--end-with-input", "{degraded...}"],
    "tools": ["--ro-bind", "{tools}", "/tools"],
    "env": [],
    "ends_with_us": true,
    "as_user": true,
    "program": {
      "argv": ["bwrap", "--unshare-all", "{filter...}", "--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534",
               "--hostname", "sandbox", "--cap-drop", "ALL", "--new-session", "--die-with-parent", "--as-pid-1",
               "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
               "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
               "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives", "{etc...}",
               "--proc", "/proc", "--ro-bind-try", "/dev/null", "/proc/keys", "--ro-bind-try", "/dev/null", "/proc/key-users",
               "--remount-ro", "/proc", "--dev", "/dev", "--size", "{shm_bytes}", "--tmpfs", "/dev/shm",
               "--size", "{tmp_bytes}", "--tmpfs", "/tmp", "{visible...}",
               "--dir", "/run", "--ro-bind", "{launcher}", "/run/keyturn-launch", "--bind", "{workspace}", "/workspace",
               "{lent...}", "--remount-ro", "/dev", "--remount-ro", "/", "/run/keyturn-launch", "{command...}"],
      "filter": ["--seccomp", "4"],
      "etc": ["--ro-bind-data", "5", "/etc/hosts", "--ro-bind-data", "6", "/etc/passwd",
              "--ro-bind-data", "7", "/etc/group", "--ro-bind-data", "8", "/etc/nsswitch.conf"],
      "visible": ["--ro-bind-try", "{path}", "{path}"],
      "lent": ["--ro-bind", "{path}", "/workspace/{place}"],
      "workspace": "/workspace",
      "control": true,
      "cgroup": true
    }
  },
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
