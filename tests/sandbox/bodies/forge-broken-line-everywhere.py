# Writes half a line to every descriptor.
# needs: process
# expect: result "honest"
# control: garbled

import os

for fd in range(64):
    try:
        os.write(fd, b'{"type":"log')
    except OSError:
        pass
emit_result("honest")
