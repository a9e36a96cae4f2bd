# Changes its own priority.
# needs: seccomp
# expect: error PermissionError

import os

os.setpriority(os.PRIO_PROCESS, 0, 19)
emit_result("reached")
