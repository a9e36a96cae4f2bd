# Reads a secret of the host that it did not declare.
# needs: process
# expect: result null
# control: result "undeclared-7c1f2b"

import os

emit_result(os.environ.get("KEYTURN_UNDECLARED"))
