# A module that is another.
# needs: process
# expect: done
# control: insane

import sys, types

sys.modules["textwrap"] = types.ModuleType("evil")
sys.modules["evil"] = sys.modules["textwrap"]
