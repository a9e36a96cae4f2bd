# Prints a declared secret at once.
# needs: process
# expect: result 1
# control: fault declared-a93e55
# secrets: KEYTURN_DECLARED

import os

print(os.environ["KEYTURN_DECLARED"])
emit_result(1)
