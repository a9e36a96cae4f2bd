# A tool that looks as old as one likes, by what its reader may do.
# needs: readonly seccomp
# expect: error Read-only file system

import os

os.utime("@TOOLS@/add.py", (0, 0))
emit_result("reached")
