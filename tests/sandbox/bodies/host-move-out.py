# Moves a file from the workspace to a folder of the host.
# needs: landlock readonly
# expect: error PermissionError | Invalid cross-device link
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

import os

with open("mine", "w") as file:
    file.write("x")
os.rename("mine", "@OUTSIDE@/mine")
emit_result("reached")
