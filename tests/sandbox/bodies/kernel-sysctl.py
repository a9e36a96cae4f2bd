# Opens a setting of the host's kernel for writing.
# needs: landlock readonly
# expect: error PermissionError | OSError
# control needs: root

import os

os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
emit_result("reached")
