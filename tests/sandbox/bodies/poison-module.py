# Replaces a function of a module by one with wrong results.
# needs: process
# expect: done
# control: insane

import textwrap

textwrap.dedent = lambda _: "evil"
