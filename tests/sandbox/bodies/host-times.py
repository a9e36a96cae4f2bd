# Sets old times on a file of the host.
# needs: seccomp readonly
# expect: error PermissionError

import posix

posix.utime("@OUTSIDE@/secret", (0, 0))
emit_result("reached")
