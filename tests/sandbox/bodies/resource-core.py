# A file with everything that was in memory.
# needs: rlimits
# expect: error PermissionError

import resource

if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
    raise PermissionError("no core")
emit_result("reached")
