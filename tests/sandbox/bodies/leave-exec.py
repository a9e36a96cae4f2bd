# Replaces its process by another program.
# needs: seccomp landlock
# expect: error PermissionError
# control: log reached

import os

os.execv("/usr/bin/env", ["env", "printf", "reached\\n"])
