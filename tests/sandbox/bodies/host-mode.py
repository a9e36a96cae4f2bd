# Changes the mode of a host file through the module posix, past os.
# needs: seccomp readonly
# expect: error PermissionError

import posix

posix.chmod("@OUTSIDE@/secret", 0o644)
emit_result("reached")
