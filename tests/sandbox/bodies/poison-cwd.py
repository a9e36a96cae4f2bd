# Another folder to stand in.
# needs: process
# expect: done
# control: insane

import os

os.chdir("/usr")
