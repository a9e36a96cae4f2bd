# abort() must be told as what it is.
# needs: process
# expect: error SIGABRT
# control: died

import os

os.abort()
