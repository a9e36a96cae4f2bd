# A file that is only memory, to be run.
# needs: seccomp
# expect: error PermissionError

import os

os.memfd_create("code")
emit_result("reached")
