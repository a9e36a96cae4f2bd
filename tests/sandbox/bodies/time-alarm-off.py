# Switches its alarm off.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import signal

signal.alarm(0)
signal.setitimer(signal.ITIMER_REAL, 0)
for one in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
    signal.signal(one, signal.SIG_IGN)
while True:
    pass
