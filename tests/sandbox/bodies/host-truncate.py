# A file of the host, made empty.
# needs: landlock
# expect: error PermissionError
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

import os

os.truncate("@OUTSIDE@/secret", 0)
emit_result("reached")
