# A handle on the process that made us.
# needs: seccomp
# expect: error PermissionError

import os

os.pidfd_open(os.getppid())
emit_result("reached")
