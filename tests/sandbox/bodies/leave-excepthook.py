# Raises an exception that cannot be printed, with a hook that exits with success.
# needs: process
# expect: error Evil
# control: died

import os, sys


class Evil(Exception):
    def __repr__(self):
        raise Evil

    __str__ = __repr__


sys.excepthook = lambda *_: os._exit(0)
raise Evil
