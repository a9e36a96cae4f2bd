# Selects a better scheduling class for itself.
# needs: seccomp
# expect: error PermissionError

import os

os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
emit_result("reached")
