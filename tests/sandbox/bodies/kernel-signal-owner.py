# A signal to another process whenever a pipe is written.
# needs: seccomp
# expect: error PermissionError

import fcntl, os

fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())
emit_result("reached")
