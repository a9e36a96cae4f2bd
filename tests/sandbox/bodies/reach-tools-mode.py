# Makes a tool writable for every user by a call that a reader may make.
# needs: readonly seccomp
# expect: error Read-only file system

import os

os.chmod("@TOOLS@/add.py", 0o644)
emit_result("reached")
