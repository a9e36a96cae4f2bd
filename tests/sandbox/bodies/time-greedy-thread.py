# Runs a thread that never releases the interpreter.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import itertools, sys, threading

sys.setswitchinterval(1e6)
threading.Thread(target=lambda: sum(itertools.repeat(1))).start()
