# Maps memory as writable and executable.
# needs: seccomp
# expect: error PermissionError

import mmap

mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
emit_result("reached")
