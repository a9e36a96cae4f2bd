# A result that nobody has room for.
# needs: process
# expect: error emit_result
# control: huge

emit_result("x" * (20 << 20))
