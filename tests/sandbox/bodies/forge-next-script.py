# Writes a result under the id of the next script.
# needs: process
# expect: result "honest"
# control: garbled

import os

for fd in range(64):
    try:
        os.write(fd, b'{"type":"final_result","execution_id":"@NEXT@","data":"forged"}\n')
    except OSError:
        pass
emit_result("honest")
