# Sends SIGKILL to its own process.
# needs: process
# expect: error SIGKILL
# control: died

import signal

signal.raise_signal(signal.SIGKILL)
