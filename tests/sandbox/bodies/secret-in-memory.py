# Looks for a secret of the host in all of its memory.
# needs: process
# expect: result 0
# control: result 2

import gc, os

found = [key for key in os.environ if key.startswith("KEYTURN")]
for one in gc.get_objects():
    if type(one) is dict:
        found += [str(v) for v in list(one.values()) if type(v) in (str, bytes) and "".join(["undecla", "red-"]) in str(v)]
emit_result(len(found))
