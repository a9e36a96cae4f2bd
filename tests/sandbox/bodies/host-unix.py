# Connects to a service of the host by a socket with a path.
# needs: seccomp bwrap
# expect: error PermissionError

import socket

socket.socket(socket.AF_UNIX).connect("@OUTSIDE@/stream")
emit_result("reached")
