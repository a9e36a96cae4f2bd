# Changes the mode of the host's /dev/null: a script may open it, and for root it is its own file.
# needs: readonly seccomp
# expect: error Read-only file system | PermissionError
# control needs: root

import os

descriptor = os.open("/dev/null", os.O_RDONLY)
os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o777)
emit_result("reached")
