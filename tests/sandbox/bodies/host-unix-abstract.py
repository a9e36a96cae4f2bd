# Connects to a service of the host by an abstract socket.
# needs: seccomp landlock bwrap
# expect: error PermissionError

import socket

socket.socket(socket.AF_UNIX).connect("\0@ABSTRACT@")
emit_result("reached")
