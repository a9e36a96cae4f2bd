# Uses more memory than its limit at once.
# needs: rlimits
# expect: error MemoryError
# not: sanitizer

block = bytearray(700 << 20)
emit_result("reached")
