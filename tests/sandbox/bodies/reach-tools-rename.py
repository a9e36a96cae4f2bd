# Moves a tool to another name.
# needs: landlock readonly
# expect: error PermissionError | Read-only file system

import os

os.rename("@TOOLS@/add.py", "@TOOLS@/sub.py")
os.rename("@TOOLS@/sub.py", "@TOOLS@/add.py")
emit_result("reached")
