# A file of the host that looks as if it had not been touched for years.
# needs: seccomp readonly
# expect: error PermissionError

import posix

posix.utime("@OUTSIDE@/secret", (0, 0))
emit_result("reached")
