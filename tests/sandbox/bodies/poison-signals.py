# A signal that is not heard any more.
# needs: process
# expect: done
# control: insane

import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
