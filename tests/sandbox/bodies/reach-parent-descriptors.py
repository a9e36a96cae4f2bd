# Opens descriptors of its parent process.
# needs: landlock
# expect: error PermissionError
# control needs: root

import os

os.listdir(f"/proc/{os.getppid()}/fd")
emit_result("reached")
