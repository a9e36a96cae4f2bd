# A file of the host that everybody may read.
# needs: bwrap
# expect: error FileNotFoundError

import os

os.chmod("@OUTSIDE@/secret", 0o644)
emit_result("reached")
