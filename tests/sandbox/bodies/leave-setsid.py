# Starts a session of its own, outside the group that is killed.
# needs: seccomp
# expect: error PermissionError

import os

os.setsid()
emit_result("reached")
