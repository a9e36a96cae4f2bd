# Changes the current folder.
# needs: process
# expect: done
# control: insane

import os

os.chdir("/usr")
