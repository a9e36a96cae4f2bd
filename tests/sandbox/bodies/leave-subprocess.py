# Starts another program with subprocess.
# needs: seccomp landlock
# expect: error PermissionError

import subprocess

subprocess.run(["/usr/bin/true"], check=True)
emit_result("reached")
