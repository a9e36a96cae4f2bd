# Closes every descriptor, so that its end cannot be reported.
# needs: process
# expect: error event pipe
# control: died

import os

os.closerange(0, 1024)
