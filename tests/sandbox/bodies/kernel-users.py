# Another user.
# needs: seccomp
# expect: error PermissionError

import os

os.setgid(os.getgid())
emit_result("reached")
