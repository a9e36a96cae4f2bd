# Makes a text that is too long for memory.
# needs: rlimits
# expect: error MemoryError
# not: sanitizer

text = "x" * (700 << 20)
emit_result("reached")
