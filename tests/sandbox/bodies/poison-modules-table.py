# Replaces a module in the table of modules.
# needs: process
# expect: done
# control: insane

import sys, types

sys.modules["textwrap"] = types.ModuleType("evil")
sys.modules["evil"] = sys.modules["textwrap"]
