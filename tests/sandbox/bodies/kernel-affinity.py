# Binds itself to one processor.
# needs: seccomp
# expect: error PermissionError

import os

os.sched_setaffinity(0, os.sched_getaffinity(0))
emit_result("reached")
