# Returns a result above every limit.
# needs: process
# expect: error emit_result
# control: huge

emit_result("x" * (20 << 20))
