# Reads a file of the host by climbing out of the workspace.
# needs: landlock
# expect: error PermissionError
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

import os

with open(os.path.relpath("@OUTSIDE@/secret")) as file:
    file.read()
emit_result("reached")
