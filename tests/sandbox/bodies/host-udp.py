# Sends to a service of the host by UDP.
# needs: seccomp bwrap
# expect: error PermissionError

import socket

socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", @UDP@))
emit_result("reached")
