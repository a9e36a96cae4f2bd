# Tests whether a file of the host exists.
# needs: bwrap
# expect: error FileNotFoundError

import os

os.stat("@OUTSIDE@/secret")
emit_result("reached")
