# Allocates a file that fills the disk, at once.
# needs: rlimits
# expect: error File too large

import os

os.posix_fallocate(os.open("big", os.O_RDWR | os.O_CREAT), 0, 20 << 20)
emit_result("reached")
