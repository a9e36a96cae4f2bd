# Ignores every signal and runs on.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import signal

for one in signal.valid_signals():
    try:
        signal.signal(one, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
