# A FIFO, to hold whoever reads the workspace.
# needs: seccomp landlock
# expect: error PermissionError

import os

os.mkfifo("fifo")
emit_result("reached")
