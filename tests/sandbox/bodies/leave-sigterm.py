# The process ends itself politely.
# needs: process
# expect: error SIGTERM
# control: died

import signal

signal.raise_signal(signal.SIGTERM)
