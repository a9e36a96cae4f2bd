# Changes the limits of its parent process.
# needs: seccomp
# expect: error PermissionError
# control needs: root

import os, resource

resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)
emit_result("reached")
