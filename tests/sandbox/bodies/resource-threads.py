# Starts threads without end.
# needs: rlimits
# expect: error can't start new thread | timed out
# timeout: 2
# not: sanitizer

import threading

wait = threading.Event()
try:
    for _ in range(600):
        threading.Thread(target=wait.wait, daemon=True).start()
finally:
    wait.set()
emit_result("reached")
