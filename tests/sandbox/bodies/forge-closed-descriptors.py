# Every descriptor closed: the end cannot be told.
# needs: process
# expect: error event pipe
# control: died

import os

os.closerange(0, 1024)
