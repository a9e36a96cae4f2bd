# Appends a line to a tool.
# needs: landlock readonly
# expect: error PermissionError | Read-only file system

with open("@TOOLS@/add.py", "a") as file:
    file.write("")
emit_result("reached")
