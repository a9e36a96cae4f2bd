# Sends a signal to its parent process.
# needs: seccomp landlock
# expect: error PermissionError

import os

os.kill(os.getppid(), 0)
emit_result("reached")
