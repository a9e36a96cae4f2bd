# Makes the same system calls by the numbers of x32.
# needs: seccomp
# expect: error failed to map segment
# only on: x86_64

import ctypes, errno

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
wrong = ctypes.get_errno() if libc.syscall(0x40000000 + 110, 0) < 0 else 0
assert wrong in (0, errno.ENOSYS), wrong
emit_result("reached")
