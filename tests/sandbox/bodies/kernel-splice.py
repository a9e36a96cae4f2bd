# Shares pages of a file with a pipe.
# needs: seccomp
# expect: error PermissionError

import os

with open("file", "w") as file:
    file.write("x")
os.splice(os.open("file", os.O_RDONLY), os.pipe()[1], 1)
emit_result("reached")
