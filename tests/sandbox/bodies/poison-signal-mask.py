# Masks a signal for the next script.
# needs: process
# expect: done
# control: insane

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
