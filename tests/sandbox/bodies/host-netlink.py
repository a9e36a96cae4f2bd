# Opens a netlink socket to the kernel.
# needs: seccomp
# expect: error PermissionError

import socket

socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0))
emit_result("reached")
