# Writes the event for its end and then continues.
# needs: process
# expect: result "honest"
# control: late

import os

for fd in (1, 2, 3):
    try:
        os.write(fd, b'{"type":"script_done","execution_id":"@ID@"}\n')
    except OSError:
        pass
emit_result("honest")
