"""Makes one system call with harmless arguments, and prints "reached" if the kernel checks them: call.py NAME

A filter fails earlier, with one of the errors below. The C library has no function for most of these calls."""

import ctypes
import errno
import os
import sys

REFUSED = (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)
BAD = -1
CALLS = {  # the number on x86-64, on other machines, and the arguments
    "io_uring_setup": (425, 425, (BAD, BAD)),
    "keyctl": (250, 219, (0, -3, 0)),  # the keyring of the session
    "add_key": (248, 217, (BAD, BAD, BAD, 0, -3)),
    "bpf": (321, 280, (BAD, BAD, 16)),
    "perf_event_open": (298, 241, (BAD, BAD, BAD, BAD, BAD)),
    "mount": (165, 40, (BAD, BAD, BAD, 0, 0)),
    "open_tree": (428, 428, (BAD, BAD, BAD)),
    "setns": (308, 268, (BAD, 0)),
    "vsock": (41, 198, (40, BAD, 0)),
    "alg": (41, 198, (38, BAD, 0)),
    "packet": (41, 198, (17, BAD, 0)),
    "netfilter": (41, 198, (16, BAD, 12)),
    "sctp": (41, 198, (2, BAD, 132)),
    "prlimit": (302, 261, (1, BAD, 0, 0)),
    "scheduler": (144, 119, (1, BAD, 0)),
    "tiocsti": (16, 29, (BAD, 0x5412, 0)),
    "tiocsetd": (16, 29, (BAD, 0x5423, 0)),
}

x86, other, arguments = CALLS[sys.argv[1]]
libc = ctypes.CDLL(None, use_errno=True)
number = x86 if os.uname().machine == "x86_64" else other
print("here", flush=True)
if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) >= 0 or ctypes.get_errno() not in REFUSED:
    print("reached")
