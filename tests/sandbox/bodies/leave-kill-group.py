# A signal to everybody in the group.
# needs: seccomp
# expect: error PermissionError

import os

os.killpg(0, 0)
emit_result("reached")
