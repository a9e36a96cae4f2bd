# Reads the memory of its parent process.
# needs: landlock
# expect: error PermissionError
# control needs: root

import os

with open(f"/proc/{os.getppid()}/mem", "rb"):
    pass
emit_result("reached")
