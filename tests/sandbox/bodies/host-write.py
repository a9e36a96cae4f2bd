# Writes a new file on the host.
# needs: landlock readonly
# expect: error PermissionError | Read-only file system
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

with open("@OUTSIDE@/evil", "w") as file:
    file.write("x")
emit_result("reached")
