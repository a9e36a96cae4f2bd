# Another program in our place.
# needs: seccomp landlock
# expect: error PermissionError
# control: log reached

import os

os.execv("/usr/bin/env", ["env", "printf", "reached\\n"])
