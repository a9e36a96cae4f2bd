# Grows a pipe to a megabyte.
# needs: seccomp
# expect: error PermissionError

import fcntl, os

fcntl.fcntl(os.pipe()[1], 1031, 1 << 20)
emit_result("reached")
