# Runs a loop in C that never checks for signals.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import itertools

sum(itertools.repeat(1))
