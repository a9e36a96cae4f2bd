# Lowers the recursion limit so that no call works.
# needs: process
# expect: done
# control: insane

import sys

sys.setrecursionlimit(80)
