"""Tries to open everything in /proc and /sys for writing and prints "reached" if anything opens that is not this
sandbox's own.

Its own are the files of processes in the sandbox's process namespace: /proc/self, /proc/thread-self and /proc/PID.
Nothing is ever written, truncated or read.
"""

import os
import stat

# Opening these has a side effect.
LEFT_OUT = {"/proc/kmsg", "/sys/kernel/debug/tracing/trace_pipe", "/sys/kernel/tracing/trace_pipe"}
NULL = os.stat("/dev/null").st_rdev
opened, tried = [], 0


def own(path):
    part = path.split("/")[2] if path.startswith("/proc/") else ""
    return part.isdigit() or part in ("self", "thread-self")


def try_file(path):
    global tried
    tried += 1
    try:
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    if os.fstat(fd).st_rdev != NULL:  # engines cover files with it
        opened.append(path)
    os.close(fd)


def try_folder(path):
    """Whether a file can be created there, tested without creating one."""
    if os.access(path, os.W_OK):
        opened.append(path + "/")


def walk(folder):
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.path in LEFT_OUT or own(entry.path):
            continue
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode):
            try_folder(entry.path)
            walk(entry.path)
        elif not stat.S_ISLNK(mode):
            try_file(entry.path)


print("here")
walk("/proc")
walk("/sys")
print(f"{tried} files tried, {len(opened)} opened: {' '.join(opened[:20])}")
if tried < 50:
    raise SystemExit("too few files to prove anything")
if opened:
    print("reached")
