# An exit status of 0 is no success.
# needs: process
# expect: error exit status 0
# control: died

import os

os._exit(0)
