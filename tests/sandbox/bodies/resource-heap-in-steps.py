# More memory than there is, bit by bit.
# needs: rlimits
# expect: error MemoryError
# not: sanitizer

blocks = [bytearray(8 << 20) for _ in range(90)]
emit_result("reached")
