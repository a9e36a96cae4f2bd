# Starts another program without fork.
# needs: seccomp landlock
# expect: error PermissionError

import os

os.waitpid(os.posix_spawn("/usr/bin/true", ["true"], {}), 0)
emit_result("reached")
