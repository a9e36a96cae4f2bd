# Opens descriptors without end.
# needs: rlimits
# expect: error Too many open files

import os

kept = [os.dup(0) for _ in range(200)]
emit_result("reached")
