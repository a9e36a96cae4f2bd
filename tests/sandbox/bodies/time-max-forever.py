# Runs a loop in C that compares without end.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import itertools

max(itertools.cycle((1, 2)))
