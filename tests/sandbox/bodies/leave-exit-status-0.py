# Exits with status 0, which is no success.
# needs: process
# expect: error exit status 0
# control: died

import os

os._exit(0)
