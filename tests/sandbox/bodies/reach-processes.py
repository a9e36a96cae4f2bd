# Lists the processes of the machine.
# needs: landlock
# expect: error PermissionError

import os

os.listdir("/proc")
emit_result("reached")
