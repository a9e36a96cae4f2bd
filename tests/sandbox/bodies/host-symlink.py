# Makes a link in the workspace that leads outside.
# needs: seccomp landlock
# expect: error PermissionError

import os

os.symlink("@OUTSIDE@/secret", "link")
with open("link") as file:
    file.read()
emit_result("reached")
