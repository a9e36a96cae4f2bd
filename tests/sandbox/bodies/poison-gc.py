# Switches the garbage collector off.
# needs: process
# expect: done
# control: insane

import gc

gc.disable()
