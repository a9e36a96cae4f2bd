# Changes the function for results through its globals.
# needs: process
# expect: done
# control: hung
# timeout: 1

emit_result.__globals__["send"] = lambda *_, **__: None
emit_result.__code__ = (lambda data: None).__code__
