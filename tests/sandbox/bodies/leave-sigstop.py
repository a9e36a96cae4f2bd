# Stops its own process and never continues.
# needs: process
# expect: error timed out after 1s
# control: hung
# timeout: 1

import signal

signal.raise_signal(signal.SIGSTOP)
