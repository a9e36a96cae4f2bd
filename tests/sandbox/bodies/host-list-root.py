# What there is on the host.
# needs: landlock
# expect: error PermissionError

import os

os.listdir("/")
emit_result("reached")
