"""Runs a command as root of a new user namespace: in_userns.py "INSIDE OUTSIDE COUNT" allow|deny COMMAND [ARG...]

The map is that of users and of groups; allow or deny says whether groups can be left there. For root."""

import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000
libc = ctypes.CDLL(None, use_errno=True)
numbers, groups, *command = sys.argv[1:]
apart, mapped = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    if libc.unshare(CLONE_NEWUSER):
        sys.exit(f"no user namespace: {os.strerror(ctypes.get_errno())}")
    os.write(apart[1], b"x")
    os.read(mapped[0], 1)
    if groups == "allow":
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.execvp(command[0], command)
os.read(apart[0], 1)
for name, text in (("setgroups", groups), ("gid_map", numbers), ("uid_map", numbers)):
    with open(f"/proc/{child}/{name}", "w", encoding="utf-8") as file:
        file.write(text)
os.write(mapped[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
