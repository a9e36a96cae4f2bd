# Makes a FIFO, which blocks a reader of the workspace.
# needs: seccomp landlock
# expect: error PermissionError

import os

os.mkfifo("fifo")
emit_result("reached")
