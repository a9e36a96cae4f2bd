# More memory than there is.
# needs: rlimits
# expect: error MemoryError
# not: sanitizer

block = bytearray(700 << 20)
emit_result("reached")
