# Changes the times of a tool by a call that a reader may make.
# needs: readonly seccomp
# expect: error Read-only file system

import os

os.utime("@TOOLS@/add.py", (0, 0))
emit_result("reached")
