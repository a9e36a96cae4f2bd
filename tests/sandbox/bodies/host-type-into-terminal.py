# Types keys into the terminal of the host.
# needs: seccomp
# expect: error PermissionError

import errno, fcntl, termios

try:
    fcntl.ioctl(0, termios.TIOCSTI, b"x")
except OSError as wrong:
    if wrong.errno != errno.ENOTTY:
        raise
emit_result("reached")
