# Matches a pattern that takes hours.
# needs: process
# expect: error timed out
# control: hung
# timeout: 1

import re, signal

for one in signal.valid_signals():
    try:
        signal.signal(one, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
re.match("(a*)*b", "a" * 60)
