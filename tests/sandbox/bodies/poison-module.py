# A function of a module that lies.
# needs: process
# expect: done
# control: insane

import textwrap

textwrap.dedent = lambda _: "evil"
