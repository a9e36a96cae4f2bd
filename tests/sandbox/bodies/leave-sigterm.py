# Sends SIGTERM to its own process.
# needs: process
# expect: error SIGTERM
# control: died

import signal

signal.raise_signal(signal.SIGTERM)
