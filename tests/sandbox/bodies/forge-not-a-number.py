# Returns a value that JSON does not have.
# needs: process
# expect: error NaN | nan
# control: garbled

emit_result(float("nan"))
