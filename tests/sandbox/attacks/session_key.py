"""Looks for the key that was added to the session keyring before Keyturn started: by its name and in /proc/keys.

Prints "reached" if it finds the key. session_key.py NAME"""

import ctypes
import os
import sys

KEYCTL_SEARCH, KEYCTL_READ, SESSION = 10, 11, -3
NUMBERS = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
libc = ctypes.CDLL(None, use_errno=True)
name = sys.argv[1].encode()
print("here")
keyctl = NUMBERS[os.uname().machine]
key = libc.syscall(keyctl, KEYCTL_SEARCH, SESSION, b"user", name, 0)
value = ctypes.create_string_buffer(64)
if key > 0 and libc.syscall(keyctl, KEYCTL_READ, key, value, 64) > 0:
    print("reached by name:", value.value.decode())
try:
    with open("/proc/keys", "rb") as file:
        if name in file.read():
            print("reached in /proc/keys")
except OSError:
    pass
