# Changes the mode of a host file with os.chmod, which the harness does on an open descriptor.
# needs: landlock readonly seccomp
# expect: error PermissionError
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

import os

os.chmod("@OUTSIDE@/secret", 0o644)
emit_result("reached")
