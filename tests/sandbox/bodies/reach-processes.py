# The list of processes.
# needs: landlock
# expect: error PermissionError

import os

os.listdir("/proc")
emit_result("reached")
