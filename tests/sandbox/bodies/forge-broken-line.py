# Writes half a line, so that the next event is broken.
# needs: process
# expect: result "honest"
# control: garbled

import os

for fd in (1, 2):
    os.write(fd, b'{"type":')
emit_result("honest")
