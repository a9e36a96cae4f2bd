# Rubbish stays.
# needs: process
# expect: done
# control: insane

import gc

gc.disable()
