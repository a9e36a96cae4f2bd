# Leaves a non-daemon thread that never ends.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import signal, threading

for one in signal.valid_signals():
    try:
        signal.signal(one, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
thread = threading.Thread(target=threading.Event().wait)
thread.start()
thread.join()
