# Returns a result and then exits.
# needs: process
# expect: ended exit status 0
# control: died

import os

emit_result(1)
os._exit(0)
