"""Runs a command in a session whose keyring holds one key: with_key.py NAME COMMAND [ARG...]"""

import ctypes
import os
import sys

JOIN_SESSION_KEYRING, SESSION = 1, -3
NUMBERS = {"x86_64": (248, 250), "aarch64": (217, 219), "riscv64": (217, 219)}
add_key, keyctl = NUMBERS[os.uname().machine]
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(keyctl, JOIN_SESSION_KEYRING, None) < 0:
    sys.exit("this kernel has no session keyrings")
if libc.syscall(add_key, b"user", sys.argv[1].encode(), b"open", 4, SESSION) < 0:
    sys.exit(f"cannot add a key: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[2], sys.argv[2:])
