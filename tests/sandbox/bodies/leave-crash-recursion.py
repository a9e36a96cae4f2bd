# The limit on recursion is lifted, and the stack ends.
# needs: process
# expect: error SIGSEGV | SIGKILL | MemoryError
# control: died
# not: sanitizer

import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __repr__(self):
        return repr(self)


repr(Deep())
