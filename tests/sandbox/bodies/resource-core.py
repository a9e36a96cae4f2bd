# Checks whether it may dump core, a file with all of its memory.
# needs: rlimits
# expect: error PermissionError

import resource

if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
    raise PermissionError("no core")
emit_result("reached")
