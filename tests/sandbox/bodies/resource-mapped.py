# Maps more memory than its limit.
# needs: rlimits
# expect: error Cannot allocate memory
# not: sanitizer

import mmap

block = mmap.mmap(-1, 700 << 20)
emit_result("reached")
