# A signal to the process that made us.
# needs: seccomp landlock
# expect: error PermissionError

import os

os.kill(os.getppid(), 0)
emit_result("reached")
