# Writes a compiled module with a library's name into the workspace.
# needs: process
# expect: done
# control: insane

import os, py_compile

with open("colorsys.py", "w") as file:
    file.write("rgb_to_hsv = lambda *_: 'evil'")
py_compile.compile("colorsys.py", cfile="colorsys.pyc")
os.unlink("colorsys.py")
