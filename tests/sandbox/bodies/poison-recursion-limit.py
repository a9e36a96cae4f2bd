# No room to call anything.
# needs: process
# expect: done
# control: insane

import sys

sys.setrecursionlimit(80)
