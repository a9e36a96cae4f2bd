# A session of our own, away from the group that would be killed.
# needs: seccomp
# expect: error PermissionError

import os

os.setsid()
emit_result("reached")
