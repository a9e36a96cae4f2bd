# Leaves descriptors open for the next script.
# needs: process
# expect: done
# control: insane

import os

for _ in range(20):
    os.dup(1)
