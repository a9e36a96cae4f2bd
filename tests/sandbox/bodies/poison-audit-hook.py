# Adds an audit hook, which cannot be removed.
# needs: process
# expect: done
# control: insane

import sys


def hook(event, _):
    if event == "open":
        raise RuntimeError("evil")


sys.addaudithook(hook)
