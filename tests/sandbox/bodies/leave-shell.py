# Starts a shell in the sandbox.
# needs: seccomp landlock
# expect: error PermissionError

import os

if os.system("exit 3") != 3 << 8:
    raise PermissionError("no shell")
emit_result("reached")
