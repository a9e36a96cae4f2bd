# Changes the owner of a host file that it can read.
# needs: readonly seccomp
# expect: error Read-only file system | PermissionError
# control needs: root

import os

descriptor = os.open(os.__file__, os.O_RDONLY)
os.fchown(descriptor, os.fstat(descriptor).st_uid, os.fstat(descriptor).st_gid)
emit_result("reached")
