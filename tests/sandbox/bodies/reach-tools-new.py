# Adds a new tool file.
# needs: landlock readonly
# expect: error PermissionError | Read-only file system

import os

with open("@TOOLS@/evil.py", "w") as file:
    file.write("def evil(): pass")
os.unlink("@TOOLS@/evil.py")
emit_result("reached")
