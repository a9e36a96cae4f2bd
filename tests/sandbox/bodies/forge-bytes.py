# Writes bytes that are not UTF-8.
# needs: process
# expect: result "honest"
# control: garbled

import os

os.write(1, b'\xff\xfe\xc3\n\x00\x1b[2J\n')
emit_result("honest")
