# Opens a handle on its parent process.
# needs: seccomp
# expect: error PermissionError

import os

os.pidfd_open(os.getppid())
emit_result("reached")
