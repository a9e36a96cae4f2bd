# Truncates a file of the host.
# needs: landlock readonly
# expect: error PermissionError | Read-only file system
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

import os

os.truncate("@OUTSIDE@/secret", 0)
emit_result("reached")
