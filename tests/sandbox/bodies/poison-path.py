# Adds a folder before the library's in the search path.
# needs: process
# expect: done
# control: insane

import os, sys

os.mkdir("evil")
with open("evil/colorsys.py", "w") as file:
    file.write("rgb_to_hsv = lambda *_: 'evil'")
sys.path.insert(0, os.path.abspath("evil"))
sys.modules.pop("colorsys", None)
