# Writes bytes without end, past the interpreter.
# needs: process
# expect: error 64 MB of output
# control: flood
# timeout: 60

import os

while True:
    os.write(1, (b"x" * 8191 + b"\n") * 8)
