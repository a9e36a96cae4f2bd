# A new file on the host.
# needs: landlock
# expect: error PermissionError
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

with open("@OUTSIDE@/evil", "w") as file:
    file.write("x")
emit_result("reached")
