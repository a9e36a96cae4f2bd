# Reads a file of the host.
# needs: landlock
# expect: error PermissionError
# expect bwrap: error FileNotFoundError
# expect podman: error FileNotFoundError

with open("@OUTSIDE@/secret") as file:
    file.read()
emit_result("reached")
