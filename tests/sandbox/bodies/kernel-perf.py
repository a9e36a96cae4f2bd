# Opens performance counters of the kernel.
# needs: seccomp
# expect: error failed to map segment
# only on: x86_64

import ctypes, errno

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
wrong = ctypes.get_errno() if libc.syscall(298, -1, 0, -1, -1, 0) < 0 else 0
assert wrong != errno.EPERM, wrong
emit_result("reached")
