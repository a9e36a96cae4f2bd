# Changes its root folder.
# needs: seccomp
# expect: error PermissionError
# control needs: root

import os

os.chroot("@WORK@")
emit_result("reached")
