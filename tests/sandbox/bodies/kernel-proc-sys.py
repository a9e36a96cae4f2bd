# Opens everything in /proc and /sys for writing, except files of the sandbox's own processes.
# needs: landlock readonly
# expect: result "nothing of 0"
# control: result "reached"
# timeout: 60

import os

opened, tried = [], 0
for top in ("/proc", "/sys"):
    for folder, folders, files in os.walk(top):
        if folder == "/proc":
            folders[:] = [one for one in folders if not one.isdigit() and one not in ("self", "thread-self")]
        for name in files:
            if name in ("kmsg", "trace_pipe"):
                continue
            path, tried = f"{folder}/{name}", tried + 1
            try:
                fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            except OSError:
                continue
            os.close(fd)
            opened.append(path)
# No folder needs to be listed for these.
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/modprobe", "/sys/kernel/uevent_helper"):
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        opened.append(path)
    except OSError:
        continue
emit_result("reached" if opened else f"nothing of {tried}")
