# Calls abort(), which must be reported as its signal.
# needs: process
# expect: error SIGABRT
# control: died

import os

os.abort()
