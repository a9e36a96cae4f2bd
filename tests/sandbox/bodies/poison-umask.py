# Files that nobody can read.
# needs: process
# expect: done
# control: insane

import os

os.umask(0o777)
