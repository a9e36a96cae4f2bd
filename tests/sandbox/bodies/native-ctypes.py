# Calls functions of the C library with ctypes.
# needs: seccomp
# expect: error failed to map segment

import ctypes

ctypes.CDLL(None).getpid()
emit_result("reached")
