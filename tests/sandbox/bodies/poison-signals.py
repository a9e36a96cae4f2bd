# Ignores a signal for the next script.
# needs: process
# expect: done
# control: insane

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
