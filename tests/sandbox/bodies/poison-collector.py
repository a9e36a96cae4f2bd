# Changes modules and scopes that the garbage collector lists.
# needs: process
# expect: done
# control: insane

import gc

for one in gc.get_objects():
    if type(one) is dict and one.get("__name__") == "textwrap":
        one["dedent"] = lambda _: "evil"
    if type(one) is dict and "emit_result" in one:
        one["add"] = lambda *_: 666
