# A stdout that is closed.
# needs: process
# expect: done
# control: died

import sys

sys.stdout.close()
