# Looks for a secret that only the previous script declared.
# needs: process
# expect: result false
# control: result true
# before: import os; kept = os.environ['KEYTURN_DECLARED']
# before secrets: KEYTURN_DECLARED

import gc, os

found = ["KEYTURN_DECLARED" in os.environ]
for one in gc.get_objects():
    if type(one) is dict:
        found += [type(v) is str and v.startswith("".join(["decla", "red-"])) for v in list(one.values())]
emit_result(any(found))
