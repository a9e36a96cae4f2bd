# Sets an attribute on a file.
# needs: seccomp
# expect: error PermissionError

import errno, os

open("file", "w").close()
try:
    os.setxattr("file", "user.evil", b"1")
except OSError as wrong:
    if wrong.errno != errno.ENOTSUP:
        raise
emit_result("reached")
