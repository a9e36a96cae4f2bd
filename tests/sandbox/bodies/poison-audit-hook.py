# A hook that nobody can remove.
# needs: process
# expect: done
# control: insane

import sys


def hook(event, _):
    if event == "open":
        raise RuntimeError("evil")


sys.addaudithook(hook)
