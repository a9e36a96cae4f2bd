# Whether a file is there.
# needs: bwrap
# expect: error FileNotFoundError

import os

os.stat("@OUTSIDE@/secret")
emit_result("reached")
