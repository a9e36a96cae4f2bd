# Sends from one end of a socket pair to another address.
# needs: seccomp bwrap
# expect: error PermissionError

import socket

socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", "@OUTSIDE@/datagram")
emit_result("reached")
