# Makes empty files, which use kernel memory.
# needs: bwrap
# expect: error Script made more than 20000 files
# timeout: 30

import os
import time

os.mkdir("many")
for number in range(24000):
    os.close(os.open(f"many/{number}", os.O_CREAT | os.O_WRONLY))
time.sleep(2)
emit_result("reached")
