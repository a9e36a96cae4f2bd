# Makes a second name for a tool, in the workspace.
# needs: seccomp landlock readonly
# expect: error PermissionError

import os

os.link("@TOOLS@/add.py", "link")
emit_result("reached")
