# The process kills itself.
# needs: process
# expect: error SIGKILL
# control: died

import signal

signal.raise_signal(signal.SIGKILL)
