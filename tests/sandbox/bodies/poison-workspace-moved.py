# Moves the workspace itself away.
# needs: landlock readonly
# expect: error PermissionError | Read-only file system | Device or resource busy

import os

os.rename("@WORK@", "@WORK@-moved")
os.rename("@WORK@-moved", "@WORK@")
emit_result("reached")
