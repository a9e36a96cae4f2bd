/* The bubblewrap engine: the arguments of bwrap for scripts (argv) and for programs (program.argv), written as a user
 * would write them in engines.json (engines.h explains the fields).
 *
 * Isolation. Every namespace is unshared. Of the host only /usr is visible, read-only. /proc is read-only, and the
 * lists of kernel keys are hidden, so that nothing outside the sandbox can be opened for writing. If Keyturn runs as
 * root, bwrap starts as the sandbox user (user.h), so that no process inside is root outside. The environment of bwrap
 * is the one it should pass on, so --clearenv is not needed.
 *
 * Scripts. The harness is process 1 and ends with its input. It needs no signal, because a child that bwrap has just
 * created would wait for a killed bwrap forever. The workspace is a file system in memory: a folder of the host could
 * fill the host's disk.
 *
 * Programs. They also get a writable /tmp (256 MB) and /dev/shm (64 MB), each at most half of their memory limit,
 * because files there count as memory. The workspace is bound to /workspace: its path on the host would reveal the
 * user's name. bwrap copies hosts, passwd, group and nsswitch.conf to /etc from descriptors (engines_program.c),
 * because servers listen on "localhost" and some tools want a user with a name.
 *
 * Network. The sandbox has none. If hosts are allowed, keyturn-launch opens a port inside and passes it to our
 * forwarder (forwarder.h) over its control connection. */

#include "engines.h"

/* Turns its arguments into a string, so that quotes need no escapes. */
#define TEXT(...) #__VA_ARGS__

/* clang-format off */
const char sandbox_engine_bwrap[] = TEXT({
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
  }
});
/* clang-format on */
