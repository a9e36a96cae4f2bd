# A tool that everybody may write, by what its reader may do.
# needs: readonly seccomp
# expect: error Read-only file system

import os

os.chmod("@TOOLS@/add.py", 0o644)
emit_result("reached")
