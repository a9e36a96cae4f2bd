# Maps a file in memory as executable.
# needs: seccomp
# expect: error PermissionError

import os

os.memfd_create("code")
emit_result("reached")
