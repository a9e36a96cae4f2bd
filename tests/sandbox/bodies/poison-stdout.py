# Closes stdout for the next script.
# needs: process
# expect: done
# control: died

import sys

sys.stdout.close()
