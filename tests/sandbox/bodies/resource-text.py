# A text that is too long to be.
# needs: rlimits
# expect: error MemoryError
# not: sanitizer

text = "x" * (700 << 20)
emit_result("reached")
