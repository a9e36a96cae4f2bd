# Sets its group to the present one.
# needs: seccomp
# expect: error PermissionError

import os

os.setgid(os.getgid())
emit_result("reached")
