# The memory of the process that made us.
# needs: landlock
# expect: error PermissionError
# control needs: root

import os

with open(f"/proc/{os.getppid()}/mem", "rb"):
    pass
emit_result("reached")
