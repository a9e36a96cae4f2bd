# Reads the environment of its parent process.
# needs: landlock
# expect: error PermissionError
# control needs: root

import os

with open(f"/proc/{os.getppid()}/environ", "rb") as file:
    file.read()
emit_result("reached")
