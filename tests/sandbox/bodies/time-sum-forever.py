# A loop in C that never looks up.
# needs: process
# expect: error Script timed out after 1s
# control: hung
# timeout: 1

import itertools

sum(itertools.repeat(1))
