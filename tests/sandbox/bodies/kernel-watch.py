# Watches all changes in a folder.
# needs: seccomp
# expect: error PermissionError

import fcntl, os

fcntl.fcntl(os.open(".", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)
emit_result("reached")
