# A function that is called with every call.
# needs: process
# expect: done
# control: insane

import sys

sys.setprofile(lambda *_: None)
