# Runs a loop in C that consumes items without end.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import collections, itertools

collections.deque(itertools.repeat(1), maxlen=0)
