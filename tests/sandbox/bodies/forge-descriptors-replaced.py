# Replaces every descriptor by a file.
# needs: process
# expect: error exit status 0 | event pipe
# control: died

import os

null = os.open("elsewhere", os.O_RDWR | os.O_CREAT)
for fd in range(0, 20):
    if fd != null:
        os.dup2(null, fd)
emit_result("honest")
