# Writes an event to its own or its parent's stdout by its path.
# needs: process
# expect: result "honest"
# control: result "forged"

import os

for pid in ("self", os.getppid(), 1):
    try:
        with open(f"/proc/{pid}/fd/1", "w") as file:
            file.write('{"type":"final_result","execution_id":"@ID@","data":"forged"}\n')
        break
    except OSError:
        pass
emit_result("honest")
