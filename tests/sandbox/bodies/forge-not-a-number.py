# A value that is no JSON.
# needs: process
# expect: error NaN | nan
# control: garbled

emit_result(float("nan"))
