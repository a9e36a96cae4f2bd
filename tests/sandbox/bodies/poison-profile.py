# Adds a function that runs at every call.
# needs: process
# expect: done
# control: insane

import sys

sys.setprofile(lambda *_: None)
