"""Runs a command in a session whose keyring holds one key: with_key.py [--full] NAME COMMAND [ARG...]

With --full, another process holds so many keys meanwhile that this user may have no more of them."""

import ctypes
import os
import signal
import subprocess
import sys
import time

JOIN_SESSION_KEYRING, SESSION = 1, -3
NUMBERS = {"x86_64": (248, 250), "aarch64": (217, 219), "riscv64": (217, 219)}
add_key, keyctl = NUMBERS[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)


def join_new_keyring():
    for _ in range(50):  # the kernel returns the keys of an ended test late
        if libc.syscall(keyctl, JOIN_SESSION_KEYRING, None) >= 0:
            return
        time.sleep(0.1)
    sys.exit(f"cannot have a session keyring: {os.strerror(ctypes.get_errno())}")


def add(name):
    """Returns the errno, or 0."""
    return ctypes.get_errno() if libc.syscall(add_key, b"user", name, b"open", 4, SESSION) < 0 else 0


def fill_quota():
    """Starts the process that holds the keys; it ends with its parent's SIGKILL."""
    report_read, report_write = os.pipe()
    filler = os.fork()
    if filler == 0:
        join_new_keyring()
        count, full_at = 0, time.monotonic()
        while count < 2000 and time.monotonic() < full_at + 1:  # the kernel returns the keys of ended tests late
            if add(b"%d" % count):
                time.sleep(0.001)
            else:
                count, full_at = count + 1, time.monotonic()
        os.write(report_write, b"full" if count < 2000 else b"room")
        signal.alarm(120)
        while True:
            count += not add(b"%d" % count)
            time.sleep(0.001)
    os.close(report_write)
    if os.read(report_read, 4) != b"full":
        os.kill(filler, signal.SIGKILL)
        sys.exit("this user may have more than 2000 keys")
    return filler


full = sys.argv[1] == "--full"
name, *command = sys.argv[1 + full :]
join_new_keyring()
wrong = add(name.encode())
if wrong:
    sys.exit(f"cannot add a key: {os.strerror(wrong)}")
if not full:
    os.execvp(command[0], command)
filler = fill_quota()
status = subprocess.run(command, check=False).returncode
os.kill(filler, signal.SIGKILL)
os.waitpid(filler, 0)
for _ in range(100):  # until the keys are returned: the next command needs one
    with open("/proc/key-users", encoding="utf-8") as users:
        held = [line.split()[3].split("/") for line in users if line.split()[0] == f"{os.getuid()}:"]
    if all(int(now) < int(most) // 2 for now, most in held):
        break
    time.sleep(0.1)
sys.exit(status)
