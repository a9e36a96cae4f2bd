# A tool that everybody may write.
# needs: bwrap
# expect: error Read-only file system

import os

os.chmod("@TOOLS@/add.py", 0o644)
emit_result("reached")
