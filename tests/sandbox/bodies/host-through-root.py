# Reads a file of the host through the root folder of another process.
# needs: landlock
# expect: error PermissionError
# control needs: root

import os

with open(f"/proc/{os.getppid()}/root@OUTSIDE@/secret") as file:
    file.read()
emit_result("reached")
