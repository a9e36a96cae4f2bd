# Every descriptor leads nowhere.
# needs: process
# expect: error exit status 0 | event pipe
# control: died

import os

null = os.open("/dev/null", os.O_RDWR)
for fd in range(0, 20):
    if fd != null:
        os.dup2(null, fd)
emit_result("honest")
