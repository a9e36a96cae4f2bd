# Fills pipes, whose memory no memory limit counts.
# needs: rlimits
# expect: error Too many open files

import os

kept = [os.pipe() for _ in range(200)]
emit_result("reached")
