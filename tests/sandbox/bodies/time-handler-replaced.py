# Replaces the harness's own signal handler.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import signal

for one in signal.valid_signals():
    handler = signal.getsignal(one)
    if hasattr(handler, "__code__"):
        handler.__code__ = (lambda number, frame: None).__code__
while True:
    pass
