# Looks for earlier scripts with the garbage collector.
# needs: process
# expect: result false
# control: result true
# before: x = 'canary-5d0c'

import gc

found, canary = 0, "-".join(["canary", "5d0c"])
for one in gc.get_objects():
    for part in one if type(one) in (list, tuple) else list(one.values()) if type(one) is dict else ():
        found += type(part) is str and canary in part
emit_result(found > 0)
