# Uses more memory than its limit, in small steps.
# needs: rlimits
# expect: error MemoryError
# not: sanitizer

blocks = [bytearray(8 << 20) for _ in range(90)]
emit_result("reached")
