# Removes the limit on recursion and overflows the stack.
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
