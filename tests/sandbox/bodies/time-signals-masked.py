# Masks every signal and runs on.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import signal, time

signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    time.sleep(100)
