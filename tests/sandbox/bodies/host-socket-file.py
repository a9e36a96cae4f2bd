# Makes a socket in the workspace.
# needs: seccomp landlock
# expect: error PermissionError

import os, stat

os.mknod("socket", stat.S_IFSOCK | 0o600)
emit_result("reached")
