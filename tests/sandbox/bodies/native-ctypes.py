# Any function of the C library.
# needs: seccomp
# expect: error failed to map segment

import ctypes

ctypes.CDLL(None).getpid()
emit_result("reached")
