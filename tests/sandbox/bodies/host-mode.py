# A file of the host that everybody may read, past what os makes of it.
# needs: seccomp readonly
# expect: error PermissionError

import posix

posix.chmod("@OUTSIDE@/secret", 0o644)
emit_result("reached")
