# Writes a module with a library's name into the workspace.
# needs: process
# expect: done
# control: insane

with open("colorsys.py", "w") as file:
    file.write("rgb_to_hsv = lambda *_: 'evil'")
