# Replaces a builtin by one with wrong results.
# needs: process
# expect: done
# control: insane

import builtins

builtins.len = lambda _: 666
