# Prints a declared secret in pieces.
# needs: process
# expect: result 1
# control: fault declared-a93e55
# secrets: KEYTURN_DECLARED

import os, sys

for c in os.environ["KEYTURN_DECLARED"]:
    sys.stdout.write(c)
    sys.stdout.flush()
for c in os.environ["KEYTURN_DECLARED"]:
    os.write(2, c.encode())
emit_result(1)
