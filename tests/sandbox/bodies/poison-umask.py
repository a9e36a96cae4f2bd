# Sets a umask that makes new files unreadable.
# needs: process
# expect: done
# control: insane

import os

os.umask(0o777)
