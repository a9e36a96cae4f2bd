# A builtin that lies.
# needs: process
# expect: done
# control: insane

import builtins

builtins.len = lambda _: 666
