# Starts a second process with fork.
# needs: seccomp
# expect: error PermissionError

import os

pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
emit_result("reached")
