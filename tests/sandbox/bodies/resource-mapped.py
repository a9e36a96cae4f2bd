# More memory than there is, from the kernel.
# needs: rlimits
# expect: error Cannot allocate memory
# not: sanitizer

import mmap

block = mmap.mmap(-1, 700 << 20)
emit_result("reached")
