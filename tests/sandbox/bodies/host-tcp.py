# Connects to a service of the host by TCP.
# needs: seccomp landlock bwrap
# expect: error PermissionError

import socket

socket.create_connection(("127.0.0.1", @PORT@), 2)
emit_result("reached")
