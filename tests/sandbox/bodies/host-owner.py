# A file of the host, given away by whoever may read it.
# needs: readonly seccomp
# expect: error Read-only file system | PermissionError
# control needs: root

import os

descriptor = os.open(os.__file__, os.O_RDONLY)
os.fchown(descriptor, os.fstat(descriptor).st_uid, os.fstat(descriptor).st_gid)
emit_result("reached")
