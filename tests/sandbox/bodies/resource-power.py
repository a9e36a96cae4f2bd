# Computes a number that takes hours.
# needs: process
# expect: error timed out | MemoryError
# control: hung
# timeout: 1

import signal

for one in signal.valid_signals():
    try:
        signal.signal(one, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
9 ** 9 ** 9
