# A file of the host that everybody may read, by the way that is left.
# needs: landlock readonly seccomp
# expect: error PermissionError
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

import os

os.chmod("@OUTSIDE@/secret", 0o644)
emit_result("reached")
