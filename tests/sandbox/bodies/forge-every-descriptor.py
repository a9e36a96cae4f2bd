# Writes an event to every descriptor.
# needs: process
# expect: result "honest"
# control: result "forged"

import os

for fd in range(1024):
    try:
        os.write(fd, b'\n{"type":"final_result","execution_id":"@ID@","data":"forged"}\n')
    except OSError:
        pass
emit_result("honest")
