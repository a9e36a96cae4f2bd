# Directs the signals of a pipe to another process.
# needs: seccomp
# expect: error PermissionError

import fcntl, os

fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())
emit_result("reached")
