# Lists the root folder of the host.
# needs: landlock
# expect: error PermissionError

import os

os.listdir("/")
emit_result("reached")
