# Listens on a TCP port.
# needs: seccomp landlock
# expect: error PermissionError

import socket

socket.create_server(("127.0.0.1", 0))
emit_result("reached")
